import java.io.*;
import java.nio.file.*;
import java.util.*;
import org.apache.lucene.analysis.core.*;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.store.*;
import org.apache.lucene.util.BytesRef;

/** Reads lines as told.h has them, answers each query by Lucene, and compares, or measures. */
public final class Lucene {
    /** BM25 has lost its factor k1 + 1 in Lucene 8. */
    private static final float FACTOR = 2.2f;
    private static final double CLOSE = 1e-4;

    private final Map<String, String> types = new HashMap<>();
    private final boolean onDisk;
    private Directory directory;
    private IndexWriter writer;
    private IndexSearcher searcher;
    private BufferedReader in;
    private long queries, differences, began;

    private Lucene(boolean onDisk) { this.onDisk = onDisk; }

    // ---- documents

    private void begin() throws IOException {
        if (writer != null) {
            searcher.getIndexReader().close();
            writer.close();
            directory.close();
        }
        began = cpuNanos();
        directory = onDisk ? new MMapDirectory(Files.createTempDirectory("lucene")) : new ByteBuffersDirectory();
        IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer());
        config.setMergePolicy(new LogDocMergePolicy()); // neighbours only: documents stay in the order of their keys
        writer = new IndexWriter(directory, config);
    }

    private Document document(String line) {
        String[] words = line.split(" ");
        Document d = new Document();
        d.add(new StringField("_key", words[1], Field.Store.NO));
        d.add(new SortedDocValuesField("_key", new BytesRef(words[1])));
        for (int i = 2; i < words.length; i++) {
            int at = words[i].indexOf('=');
            addValue(d, words[i].substring(0, at), words[i].substring(at + 1));
        }
        return d;
    }

    /** Documents that come in place of those with their keys; what changed is seen after every 1,000. */
    private void update(int count) throws IOException {
        List<Document> list = new ArrayList<>();
        DirectoryReader reader = (DirectoryReader) searcher.getIndexReader();
        for (int i = 0; i < count; i++)
            list.add(document(in.readLine()));
        long from = cpuNanos();
        for (int i = 0; i < count; i++) {
            writer.updateDocument(new Term("_key", list.get(i).get("_key")), list.get(i));
            DirectoryReader now = (i + 1) % 1000 == 0 ? DirectoryReader.openIfChanged(reader, writer) : null;
            if (now != null) {
                reader.close();
                reader = now;
            }
        }
        System.out.println(count / ((cpuNanos() - from) / 1e9));
        System.out.flush();
        searcher = new IndexSearcher(reader);
        searcher.setQueryCache(null);
    }

    private void addValue(Document d, String name, String value) {
        if (value.isEmpty())
            return;
        if (value.startsWith("[")) {
            for (String one : value.substring(1, value.length() - 1).replace("\"", "").replace("_", "").split(","))
                addValue(d, name, one);
            return;
        }
        switch (types.get(name)) {
            case "long" -> d.add(new LongField(name, Long.parseLong(value), Field.Store.NO));
            case "double" -> d.add(new DoubleField(name, Double.parseDouble(value), Field.Store.NO));
            case "text" -> d.add(new TextField(name, value.replace('_', ' '), Field.Store.NO));
            case "geo" -> {
                String[] p = value.split(",");
                d.add(new LatLonPoint(name, Double.parseDouble(p[0]), Double.parseDouble(p[1])));
                d.add(new LatLonDocValuesField(name, Double.parseDouble(p[0]), Double.parseDouble(p[1])));
            }
            default -> {
                d.add(new StringField(name, value, Field.Store.NO));
                d.add(new SortedSetDocValuesField(name, new BytesRef(value)));
            }
        }
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private void open() throws IOException {
        if (onDisk)
            writer.forceMerge(1);
        writer.commit();
        if (onDisk) {
            double s = (cpuNanos() - began) / 1e9;
            System.out.println(writer.getDocStats().numDocs / s);
            System.out.flush();
        }
        searcher = new IndexSearcher(DirectoryReader.open(writer));
        searcher.setQueryCache(null); // what is measured is the search
    }

    // ---- queries

    private final class Parser {
        private final String[] words;
        private int at;

        Parser(String line, int from) {
            words = line.split(" ");
            at = from;
        }

        String next() { return words[at++]; }

        int number() { return Integer.parseInt(next()); }

        Query query() {
            if (words[at].startsWith("*")) {
                float weight = Float.parseFloat(next().substring(1));
                return new BoostQuery(query(), weight);
            }
            String kind = next();
            switch (kind) {
                case "all": return new MatchAllDocsQuery();
                case "bool": return bool();
                case "const": {
                    float w = Float.parseFloat(next());
                    return new BoostQuery(new ConstantScoreQuery(query()), w);
                }
                case "dismax": {
                    float tie = Float.parseFloat(next());
                    return new DisjunctionMaxQuery(list(number()), tie);
                }
                default: return field(kind, next());
            }
        }

        private List<Query> list(int count) {
            List<Query> list = new ArrayList<>();
            for (int i = 0; i < count; i++)
                list.add(query());
            return list;
        }

        private Query bool() {
            int minimum = number(), must = number(), filter = number(), not = number(), should = number();
            BooleanQuery.Builder b = new BooleanQuery.Builder();
            list(must).forEach(q -> b.add(q, BooleanClause.Occur.MUST));
            list(filter).forEach(q -> b.add(q, BooleanClause.Occur.FILTER));
            list(not).forEach(q -> b.add(q, BooleanClause.Occur.MUST_NOT));
            list(should).forEach(q -> b.add(q, BooleanClause.Occur.SHOULD));
            if (must + filter + should == 0)
                b.add(new MatchAllDocsQuery(), BooleanClause.Occur.FILTER);
            if (should > 0 && minimum > 0)
                b.setMinimumNumberShouldMatch(minimum);
            return b.build();
        }

        private Query field(String kind, String f) {
            switch (kind) {
                case "term": return exact(f, next());
                case "terms": {
                    BooleanQuery.Builder b = new BooleanQuery.Builder();
                    for (int n = number(); n > 0; n--)
                        b.add(exact(f, next()), BooleanClause.Occur.SHOULD);
                    return new ConstantScoreQuery(b.build());
                }
                case "range": return range(f);
                case "exists": return new ConstantScoreQuery(new FieldExistsQuery(f));
                case "prefix": return new PrefixQuery(new Term(f, next()));
                case "wildcard": return new WildcardQuery(new Term(f, next()));
                case "match": return match(f);
                case "phrase": {
                    PhraseQuery.Builder b = new PhraseQuery.Builder();
                    int n = number();
                    if (n == 1)
                        return exact(f, next());
                    for (; n > 0; n--)
                        b.add(new Term(f, next()));
                    return new BoostQuery(b.build(), FACTOR);
                }
                case "box": {
                    String[] a = next().split(","), b = next().split(",");
                    return new ConstantScoreQuery(LatLonPoint.newBoxQuery(f, Double.parseDouble(b[0]), Double.parseDouble(a[0]),
                        Double.parseDouble(a[1]), Double.parseDouble(b[1])));
                }
                case "circle": {
                    String[] p = next().split(",");
                    return new ConstantScoreQuery(LatLonPoint.newDistanceQuery(f, Double.parseDouble(p[0]), Double.parseDouble(p[1]),
                        Double.parseDouble(next())));
                }
                default: throw new IllegalArgumentException(kind);
            }
        }

        /** A term of other fields than text has no score of its own. */
        private Query exact(String f, String v) {
            return switch (types.get(f)) {
                case "long" -> new ConstantScoreQuery(LongPoint.newExactQuery(f, Long.parseLong(v)));
                case "double" -> new ConstantScoreQuery(DoublePoint.newExactQuery(f, Double.parseDouble(v)));
                case "text" -> new BoostQuery(new TermQuery(new Term(f, v)), FACTOR);
                default -> new ConstantScoreQuery(new TermQuery(new Term(f, v)));
            };
        }

        private Query range(String f) {
            String low = next(), high = next();
            boolean inLow = number() == 1, inHigh = number() == 1;
            if (types.get(f).equals("double")) {
                double a = low.equals("-") ? Double.NEGATIVE_INFINITY : Double.parseDouble(low);
                double b = high.equals("-") ? Double.POSITIVE_INFINITY : Double.parseDouble(high);
                return new ConstantScoreQuery(DoubleField.newRangeQuery(f, inLow || low.equals("-") ? a : DoublePoint.nextUp(a),
                    inHigh || high.equals("-") ? b : DoublePoint.nextDown(b)));
            }
            long a = low.equals("-") ? Long.MIN_VALUE : Long.parseLong(low) + (inLow ? 0 : 1);
            long b = high.equals("-") ? Long.MAX_VALUE : Long.parseLong(high) - (inHigh ? 0 : 1);
            return new ConstantScoreQuery(LongField.newRangeQuery(f, a, b));
        }

        private Query match(String f) {
            boolean all = number() == 1;
            int minimum = number(), n = number();
            if (n == 1)
                return exact(f, next());
            BooleanQuery.Builder b = new BooleanQuery.Builder();
            for (; n > 0; n--)
                b.add(exact(f, next()), all ? BooleanClause.Occur.MUST : BooleanClause.Occur.SHOULD);
            if (!all && minimum > 1)
                b.setMinimumNumberShouldMatch(minimum);
            return b.build();
        }
    }

    /** A line `Q limit sort total aggregations groups query`. */
    private final class Asked {
        final int limit;
        final String order;
        final boolean total;
        final String[] aggregations, groups;
        final Query query;

        Asked(String line) {
            Parser p = new Parser(line, 1);
            limit = p.number();
            order = p.next();
            total = p.number() == 1;
            aggregations = list(p.next());
            groups = list(p.next());
            query = p.query();
        }

        private String[] list(String s) { return s.equals("-") ? new String[0] : s.split(";"); }

        private Sort sort() {
            SortField key = new SortField("_key", SortField.Type.STRING);
            if (order.equals("score"))
                return new Sort(SortField.FIELD_SCORE, key);
            if (order.equals("key"))
                return onDisk ? Sort.INDEXORDER : new Sort(key);
            String f = order.substring(1);
            boolean descending = order.charAt(0) == '-';
            SortField by;
            if (types.get(f).equals("keyword")) {
                by = new SortedSetSortField(f, descending,
                    descending ? SortedSetSelector.Type.MAX : SortedSetSelector.Type.MIN);
                by.setMissingValue(descending ? SortField.STRING_FIRST : SortField.STRING_LAST); // behind all, either way
            } else if (types.get(f).equals("double")) {
                by = DoubleField.newSortField(f, descending,
                    descending ? SortedNumericSelector.Type.MAX : SortedNumericSelector.Type.MIN);
                by.setMissingValue(descending ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY);
            } else {
                by = LongField.newSortField(f, descending,
                    descending ? SortedNumericSelector.Type.MAX : SortedNumericSelector.Type.MIN);
                by.setMissingValue(descending ? Long.MIN_VALUE : Long.MAX_VALUE);
            }
            return onDisk ? new Sort(by) : new Sort(by, key);
        }

        TopDocs run() throws IOException {
            if (limit == 0)
                return null;
            int threshold = total ? Integer.MAX_VALUE : 1;
            if (order.equals("score") && onDisk)
                return searcher.search(query, new TopScoreDocCollectorManager(limit, null, threshold));
            return searcher.search(query, new TopFieldCollectorManager(sort(), limit, null, threshold));
        }
    }

    // ---- aggregations and groups

    private abstract static class Each extends SimpleCollector {
        @Override
        public ScoreMode scoreMode() { return ScoreMode.COMPLETE_NO_SCORES; }
    }

    private double aggregate(Query q, String name) throws IOException {
        String[] parts = name.split(":");
        String op = parts[0], f = parts[1];
        Set<Object> distinct = new HashSet<>();
        double[] sum = {0, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 0};
        boolean keyword = types.get(f).equals("keyword"), real = types.get(f).equals("double");
        searcher.search(q, new Each() {
            private SortedSetDocValues terms;
            private SortedNumericDocValues numbers;
            private NumericDocValues single;

            @Override
            protected void doSetNextReader(LeafReaderContext context) throws IOException {
                if (keyword)
                    terms = DocValues.getSortedSet(context.reader(), f);
                else
                    numbers = DocValues.getSortedNumeric(context.reader(), f);
                single = keyword ? null : DocValues.unwrapSingleton(numbers);
            }

            @Override
            public void collect(int doc) throws IOException {
                if (single != null) {
                    if (single.advanceExact(doc))
                        number(single.longValue());
                } else if (keyword) {
                    for (int i = terms.advanceExact(doc) ? terms.docValueCount() : 0; i > 0; i--) {
                        sum[3]++;
                        if (op.equals("distinct"))
                            distinct.add(terms.lookupOrd(terms.nextOrd()).utf8ToString());
                        else
                            terms.nextOrd();
                    }
                } else {
                    for (int i = numbers.advanceExact(doc) ? numbers.docValueCount() : 0; i > 0; i--)
                        number(numbers.nextValue());
                }
            }

            private void number(long n) {
                double v = real ? org.apache.lucene.util.NumericUtils.sortableLongToDouble(n) : n;
                sum[0] += v;
                sum[1] = Math.min(sum[1], v);
                sum[2] = Math.max(sum[2], v);
                sum[3]++;
                if (op.equals("distinct"))
                    distinct.add(v);
            }
        });
        return switch (op) {
            case "sum" -> sum[0];
            case "min" -> sum[1];
            case "max" -> sum[2];
            case "avg" -> sum[0] / sum[3];
            case "count" -> sum[3];
            default -> distinct.size();
        };
    }

    /** "key count" of all groups, in order. */
    private List<String> group(Query q, String name) throws IOException {
        String f = name.split("/")[0];
        long interval = name.contains("/") ? Long.parseLong(name.split("/")[1]) : 0;
        TreeMap<String, Long> terms = new TreeMap<>();
        TreeMap<Long, Long> numbers = new TreeMap<>();
        searcher.search(q, new Each() {
            private SortedSetDocValues all;
            private SortedDocValues single;
            private SortedNumericDocValues values;
            private long[] counts;

            @Override
            protected void doSetNextReader(LeafReaderContext context) throws IOException {
                finish();
                if (interval > 0) {
                    values = DocValues.getSortedNumeric(context.reader(), f);
                    return;
                }
                all = DocValues.getSortedSet(context.reader(), f);
                single = DocValues.unwrapSingleton(all);
                counts = new long[(int) all.getValueCount()];
            }

            @Override
            public void collect(int doc) throws IOException {
                if (interval > 0) {
                    Set<Long> keys = new HashSet<>();
                    for (int i = values.advanceExact(doc) ? values.docValueCount() : 0; i > 0; i--)
                        keys.add(Math.floorDiv(values.nextValue(), interval) * interval);
                    keys.forEach(k -> numbers.merge(k, 1L, Long::sum));
                } else if (single != null) {
                    if (single.advanceExact(doc))
                        counts[single.ordValue()]++;
                } else {
                    for (int i = all.advanceExact(doc) ? all.docValueCount() : 0; i > 0; i--)
                        counts[(int) all.nextOrd()]++;
                }
            }

            @Override
            public void finish() throws IOException {
                for (int i = 0; counts != null && i < counts.length; i++)
                    if (counts[i] > 0)
                        terms.merge(all.lookupOrd(i).utf8ToString(), counts[i], Long::sum);
                counts = null;
            }
        });
        List<String> out = new ArrayList<>();
        numbers.forEach((k, n) -> out.add(k + " " + n));
        terms.entrySet().stream().sorted((a, b) -> Long.compare(b.getValue(), a.getValue()))
            .forEach(e -> out.add(e.getKey() + " " + e.getValue()));
        return out;
    }

    // ---- comparing

    private static boolean close(double a, double b) {
        return a == b || Math.abs(a - b) <= CLOSE * Math.max(Math.abs(a), Math.abs(b)) + 1e-9;
    }

    private void compare(String line) throws IOException {
        Asked asked = new Asked(line);
        List<String> hits = new ArrayList<>(), told = new ArrayList<>(), found = new ArrayList<>();
        long total = -1;
        for (String l = in.readLine(); !l.equals("."); l = in.readLine()) {
            if (l.startsWith("T"))
                total = Long.parseLong(l.substring(2));
            else if (l.startsWith("H"))
                hits.add(l.substring(2));
            else
                told.add(l);
        }
        if (total >= 0 && total != searcher.count(asked.query))
            found.add("total " + total + ", and Lucene's is " + searcher.count(asked.query));
        compareHits(asked, hits, found);
        compareRest(asked, told, found);
        queries++;
        if (found.isEmpty())
            return;
        if (differences++ < 10) {
            System.out.println("difference: " + line);
            found.stream().limit(5).forEach(s -> System.out.println("    " + s));
        }
    }

    private void compareHits(Asked asked, List<String> hits, List<String> found) throws IOException {
        TopDocs top = asked.run();
        int count = top == null ? 0 : top.scoreDocs.length;
        if (count != hits.size())
            found.add(hits.size() + " hits, and Lucene has " + count);
        for (int i = 0; i < Math.min(count, hits.size()); i++) {
            String[] ours = hits.get(i).split(" ");
            String key = key(top.scoreDocs[i].doc);
            if (!asked.order.equals("score")) {
                if (!key.equals(ours[0]))
                    found.add("hit " + i + " is " + ours[0] + ", and Lucene's " + key);
                continue;
            }
            // Scores that are about the same may stand either way round: the place's score counts, and the hit's own.
            double score = ((Number) ((FieldDoc) top.scoreDocs[i]).fields[0]).doubleValue(), own = score;
            if (!key.equals(ours[0]))
                own = explain(asked.query, ours[0]);
            if (!close(Double.parseDouble(ours[1]), score) || !close(Double.parseDouble(ours[1]), own))
                found.add("hit " + i + " is " + hits.get(i) + ", and Lucene's " + key + " " + score);
        }
    }

    private String key(int doc) throws IOException {
        List<LeafReaderContext> leaves = searcher.getIndexReader().leaves();
        LeafReaderContext leaf = leaves.get(ReaderUtil.subIndex(doc, leaves));
        SortedDocValues keys = leaf.reader().getSortedDocValues("_key");
        keys.advanceExact(doc - leaf.docBase);
        return keys.lookupOrd(keys.ordValue()).utf8ToString();
    }

    private double explain(Query q, String key) throws IOException {
        TopDocs one = searcher.search(new TermQuery(new Term("_key", key)), 1);
        return one.scoreDocs.length == 0 ? Double.NaN : searcher.explain(q, one.scoreDocs[0].doc).getValue().doubleValue();
    }

    private void compareRest(Asked asked, List<String> told, List<String> found) throws IOException {
        Iterator<String> lines = told.iterator();
        for (String name : asked.aggregations) {
            String line = lines.next();
            double expected = aggregate(asked.query, name);
            double ours = Double.parseDouble(line.split(" ")[2].replace("inf", "Infinity").replace("-nan", "NaN").replace("nan", "NaN"));
            if (!close(ours, expected) && !(Double.isNaN(ours) && Double.isNaN(expected)))
                found.add(line + ", and Lucene's is " + expected);
        }
        List<String> rest = new ArrayList<>();
        lines.forEachRemaining(rest::add);
        for (String name : asked.groups) {
            List<String> expected = group(asked.query, name);
            List<String> ours = rest.stream().filter(l -> l.startsWith("G " + name + " ")).map(l -> l.substring(name.length() + 3)).toList();
            if (!name.contains("/") && expected.size() > 10)
                expected = expected.subList(0, 10);
            if (!ours.equals(expected))
                found.add("groups of " + name + ": " + ours + ", and Lucene's " + expected);
        }
    }

    // ---- measuring

    /** All that a line asks for, as a program would that wants it fast. */
    private void answer(Asked asked) throws IOException {
        if (asked.limit > 0)
            asked.run();
        for (String name : asked.aggregations)
            aggregate(asked.query, name);
        for (String name : asked.groups)
            group(asked.query, name);
    }

    private void measure(int count) throws IOException {
        List<Asked> list = new ArrayList<>();
        double[] us = new double[count];
        for (int i = 0; i < count; i++)
            list.add(new Asked(in.readLine()));
        for (int warm = 0; warm < 4; warm++)
            for (Asked a : list)
                answer(a);
        for (int i = 0; i < count; i++) {
            long start = System.nanoTime();
            answer(list.get(i));
            us[i] = (System.nanoTime() - start) / 1e3;
        }
        Arrays.sort(us);
        System.out.println(us[count / 2] + " " + us[count * 99 / 100]);
        System.out.flush();
    }

    private int run() throws IOException {
        in = new BufferedReader(new InputStreamReader(System.in));
        begin();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line.charAt(0)) {
                case 'S' -> types.put(line.split(" ")[1], line.split(" ")[2]);
                case 'D' -> writer.addDocument(document(line));
                case 'U' -> update(Integer.parseInt(line.substring(2)));
                case 'X' -> writer.deleteDocuments(new Term("_key", line.substring(2)));
                case 'C' -> open();
                case 'Q' -> compare(line);
                case 'M' -> measure(Integer.parseInt(line.substring(2)));
                case 'R' -> begin();
                default -> throw new IOException("no such line: " + line);
            }
        }
        if (!onDisk)
            System.out.println(queries + " queries, " + differences + " differences");
        return queries > 0 && differences == 0 ? 0 : 1;
    }

    public static void main(String[] args) throws IOException {
        System.exit(new Lucene(args.length > 0 && args[0].equals("--measure")).run());
    }
}

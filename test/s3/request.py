"""One request to a store that speaks S3, signed by a hand other than src/s3's: request.py METHOD URL; its body to standard output.
The access key is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."""
import datetime
import hashlib
import hmac
import os
import sys
import urllib.parse
import urllib.request

method, url = sys.argv[1:]
parts = urllib.parse.urlsplit(url)
now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
digest = hashlib.sha256(b"").hexdigest()
headers = {"host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": now}
names = ";".join(sorted(headers))
lines = "".join("%s:%s\n" % (k, headers[k]) for k in sorted(headers))
canonical = "\n".join([method, parts.path, parts.query, lines, names, digest])
scope = now[:8] + "/us-east-1/s3/aws4_request"
text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
key = ("AWS4" + os.environ["AWS_SECRET_ACCESS_KEY"]).encode()
for word in scope.split("/") + [text]:
    key = hmac.new(key, word.encode(), hashlib.sha256).digest()
headers["authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s" % (
    os.environ["AWS_ACCESS_KEY_ID"],
    scope,
    names,
    key.hex(),
)
request = urllib.request.Request(url, method=method, headers=headers)
sys.stdout.write(urllib.request.urlopen(request, timeout=60).read().decode())

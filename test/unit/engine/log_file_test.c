/* Files of records as RocksDB's logs are: what is read of one that was appended to. */
#include "bed.h"

#include "engine/log_file.h"

#include <fcntl.h>

/* What a log says after an entry was appended, wherever in a block it lands. */
static void test_log_append(void **state)
{
    static const char entry[] = "an entry of some length";
    static const size_t left[] = {0, 6, 7, 8, 29, 30, 31};
    static uint8_t zeros[LOG_BLOCK_BYTES];
    struct log_file f;
    uint8_t head[100];
    struct bed b;
    size_t have;

    (void)state;
    bed_init(&b);
    for (size_t i = 0; i < PORT_COUNT(left); i++) {
        const char *path = bed_path(&b, "log");
        size_t first = LOG_BLOCK_BYTES - 7 - left[i];

        unlink(path);
        close(open(path, O_WRONLY | O_CREAT, 0600));
        assert_int_equal(log_file_append(path, bytes_of(zeros, first)), 0);
        assert_int_equal(log_file_append(path, bytes_str(entry)), 0);
        assert_true(log_file_open(&f, path));
        assert_true(log_file_entry(&f, head, sizeof(head), &have));
        assert_true(log_file_entry(&f, head, sizeof(head), &have));
        assert_true(bytes_equal(bytes_of(head, have), bytes_str(entry)));
        assert_int_equal(f.end, f.size);
        log_file_close(&f);
    }
    bed_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_append),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

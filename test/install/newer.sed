# widerow.h as it may be one day: structs have grown at their ends.
/^struct wr_get_row {/,/^};/ s/^};/    uint64_t later;\n};/
/^struct wr_create_table {/,/^};/ s/^};/    uint64_t later[4];\n};/
/^struct wr_options {/,/^};/ s/^};/    uint64_t later[8];\n};/

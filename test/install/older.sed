# widerow.h as if its structs had not grown yet: the last members of some are not there, and with them what their
# elements would be.
/^struct wr_get_row {/,/^};/ { /transaction/d }
/^struct wr_create_table {/,/^};/ { /bytes layout/,/\*\//d }
/^struct wr_options {/,/^};/ { /log_arg/d }

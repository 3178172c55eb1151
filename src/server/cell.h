/* cell.h: one cell as a stream over HTTP: PutCell and GetCell.
 *
 * Both are POST requests with the headers of any other, signed alike, but what is asked stands in
 * headers too and the body is the value:
 *
 *   x-ots-cell-table    the table
 *   x-ots-cell-key      the primary key: pk=int:5&id=str:abc&b=bin:%00%FF
 *   x-ots-cell-column   the column
 *   x-ots-cell-expect   PutCell: exist, absent: of the row; left out, it does not matter
 *   x-ots-cell-time     PutCell: the timestamp in ms; left out, the server stamps it
 *   x-ots-cell-sha256   PutCell: of the value, in hex, or "trailer"; or
 *   x-ots-contentmd5    ... its MD5, in base64. One of the two must be there
 *   content-length      PutCell: must be there
 *   range               GetCell: bytes=A-B, one range (RFC 9110)
 *
 * "trailer" spares a client that reads the value for the first time another pass over it: the hash
 * stands behind the value then, in the body's last 92 bytes (sign_trailer()), signed with the key
 * that signs answers. The access key must still be there, and be allowed to write, when it comes.
 *
 * Names and values in them are percent-encoded. PutCell answers like UpdateRow. GetCell answers
 * with the bytes and, in signed headers, what the whole value is: x-ots-cell-length,
 * x-ots-cell-sha256, x-ots-cell-time, x-ots-cell-type
 * ("str", "bin"). Errors are those of every operation; an answer that ends before its
 * Content-Length is not whole. */
#ifndef SERVER_CELL_H
#define SERVER_CELL_H

struct op_exchange;

/* The request was admitted. PutCell: from on_head, the body is still to come. */
void cell_put(struct op_exchange *op);
void cell_get(struct op_exchange *op);

#endif

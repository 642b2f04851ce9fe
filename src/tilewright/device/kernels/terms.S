// add_terms_f16: panels of 16 columns, summed up: blocks, part of another matrix, a row, an array.
//
//   z[p][r] = row[p] + own[p][r] + y[p][r] + x[0][p][r] + … + x[blocks - 1][p][r]
//
//   $m2 z         panels × rows × 16 halves
//   $m3 x         blocks of as many halves, one after the other
//   $m4 own       panels that may have more rows than z's: $m9 says how many more
//   $m5 row       panels × 16 halves, multiple of 8; 0 if there is none
//   $m6 y         as z, which it may be; 0 if there is none
//   $m7 rows      of a panel, at least 1
//   $m8 all rows  rows × panels
//   $m9           further rows of a panel of own × 4096 + blocks - 1
//
// But for the row, addresses are multiples of 16 in interleaved memory. Sums are singles, added up in
// the order above, and rounded once. A worker takes a half of every third row of z.

#include "vector.inc"

#define STATE_ROW  3
#define STATE_ROWS 5
#define STATE_ALL  6
#define STATE_MORE 7

#define ROW     WORKER
#define PITCH   m6
#define FURTHER m7
#define AT      m8
#define OWN     m9
#define PLACE   m10
#define ROWS    m11

#define BLOCKS_BITS   12
#define STRIDE        3
#define ROW_BYTES     32
#define ROW_LOG2      5
#define HALF_LOG2     4
#define QUAD          a0:3
#define FROM_ROW      a4:5
#define FROM_ROW_TOO  a6:7

// PLACE is the row in its panel, if it is below ROWS; else OWN, ROW and it go on to the next panel.
.macro TERMS_FIND label
.Ladd_terms_f16_\label:
  cmpult  $SCRATCH, $PLACE, $ROWS
  brnz    $SCRATCH, .Ladd_terms_f16_\label\()_there
  sub     $PLACE, $PLACE, $ROWS
  ld32    $SCRATCH, $mvertex_base, $mzero, STATE_MORE
  shr     $SCRATCH, $SCRATCH, BLOCKS_BITS
  shl     $SCRATCH, $SCRATCH, ROW_LOG2
  add     $OWN, $OWN, $SCRATCH
  brz     $ROW, .Ladd_terms_f16_\label
  add     $ROW, $ROW, ROW_BYTES
  ld64    $FROM_ROW, $ROW, $mzero, 0
  ld64    $FROM_ROW_TOO, $ROW, $mzero, 1
  bri     .Ladd_terms_f16_\label
.Ladd_terms_f16_\label\()_there:
.endm

  VECTOR_SUPERVISOR add_terms_f16, m2, m3, m4, m5, m6, m7, m8, m9
  WORKER_START add_terms_f16
  shr     $PLACE, $WORKER, 1
  ld32    $COUNT, $mvertex_base, $mzero, STATE_ALL
  shl     $PITCH, $COUNT, 1
  add     $COUNT, $COUNT, STRIDE - 1
  sub     $COUNT, $COUNT, $PLACE
  setzi   $SCRATCH, ((1 << 18) + STRIDE - 1) / STRIDE
  mul     $COUNT, $COUNT, $SCRATCH
  shr     $COUNT, $COUNT, 18
  brz     $COUNT, .Ladd_terms_f16_done
  add     $COUNT, $COUNT, -1
  ld32    $ROWS, $mvertex_base, $mzero, STATE_ROWS
  ld32    $FURTHER, $mvertex_base, $mzero, STATE_MORE
  and     $FURTHER, $FURTHER, (1 << BLOCKS_BITS) - 1
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  ld32    $OWN, $mvertex_base, $mzero, 2
  ld32    $Y, $mvertex_base, $mzero, 4
  // The worker's first half of a row.
  shl     $SCRATCH, $WORKER, HALF_LOG2
  add     $Z, $Z, $SCRATCH
  add     $X, $X, $SCRATCH
  add     $OWN, $OWN, $SCRATCH
  brz     $Y, .Ladd_terms_f16_without_y
  add     $Y, $Y, $SCRATCH
.Ladd_terms_f16_without_y:
  and     $SCRATCH, $WORKER, 1
  shl     $SCRATCH, $SCRATCH, HALF_LOG2
  ld32    $ROW, $mvertex_base, $mzero, STATE_ROW
  { nop ; zero $FROM_ROW }
  { brz   $ROW, .Ladd_terms_f16_without_row ; zero $FROM_ROW_TOO }
  add     $ROW, $ROW, $SCRATCH
  ld64    $FROM_ROW, $ROW, $mzero, 0
  ld64    $FROM_ROW_TOO, $ROW, $mzero, 1
.Ladd_terms_f16_without_row:
  TERMS_FIND first
  f16v2gina $a0, $a4, 0
  f16v2gina $a0, $a5, 0
  f16v2gina $a0, $a6, 0
  f16v2gina $a0, $a7, 0
.Ladd_terms_f16_next:
  ld128   $QUAD, $OWN, $mzero, 0
  { mov   $AT, $X ; f16v8acc $QUAD }
  brz     $Y, .Ladd_terms_f16_blocks
  ld128step $QUAD, $mzero, $Y+=, 2 * STRIDE
  f16v8acc $QUAD
.Ladd_terms_f16_blocks:
  ld128step $QUAD, $mzero, $AT+=, $PITCH
  ALIGNED_RPT add_terms_f16, $FURTHER, loop
.Ladd_terms_f16_loop:
  { ld128step $QUAD, $mzero, $AT+=, $PITCH ; f16v8acc $QUAD }
.Ladd_terms_f16_loop_end:
  { add   $X, $X, STRIDE * ROW_BYTES ; f16v8acc $QUAD }
  add     $OWN, $OWN, STRIDE * ROW_BYTES
  brz     $COUNT, .Ladd_terms_f16_last
  add     $PLACE, $PLACE, STRIDE
  TERMS_FIND following
.Ladd_terms_f16_last:
  // The next sums start from the row.
  f16v2gina $a0, $a4, 0
  f16v2gina $a1, $a5, 0
  { st64step $a0:1, $mzero, $Z+=, 1 ; f16v2gina $a2, $a6, 0 }
  f16v2gina $a3, $a7, 0
  st64step $a2:3, $mzero, $Z+=, 4 * STRIDE - 1
  brnzdec $COUNT, .Ladd_terms_f16_next
  VECTOR_END add_terms_f16

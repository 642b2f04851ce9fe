// permute_16: rows of halves, gathered at equal distances. With x pitch 1 and the columns of a
// row-major matrix as x step, z is its transpose; with x step 0, each row repeats one half.
//
//   z[j * 2 * z pitch + i] = x[j * x pitch + i * x step],  0 <= j < rows, 0 <= i < 2 * pairs
//
//   $m2 z         multiple of 4
//   $m3 x         multiple of 2; does not overlap z
//   $m4 z pitch   pairs of halves from row to row
//   $m5 x pitch   halves from row to row
//   $m6 x step    halves from one element of a row to the next
//   $m7 pairs     of halves in a row, 1 to 65536: a `rpt` counts to 65535
//   $m8 rows      at least 1
//
// Pitches and step may be any numbers, negative ones too. Nothing but the rows of z is written, and
// nothing but the elements wanted is read. A worker takes every sixth row; a pair takes three
// bundles.

#include "vector.inc"

#define X_NEXT  m6
#define Z_NEXT  m7
#define STEP    m8
#define BUT_ONE m9

#define HALF_LOG2 1
#define PAIR_LOG2 2

  VECTOR_SUPERVISOR permute_16, m2, m3, m4, m5, m6, m7, m8
  WORKER_START permute_16
  ld32    $COUNT, $mvertex_base, $mzero, 6
  TAKE_SHARE
  brz     $COUNT, .Lpermute_16_done
  add     $COUNT, $COUNT, -1
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  ld32    $Z_NEXT, $mvertex_base, $mzero, 2
  ld32    $X_NEXT, $mvertex_base, $mzero, 3
  ld32    $STEP, $mvertex_base, $mzero, 4
  ld32    $BUT_ONE, $mvertex_base, $mzero, 5
  add     $BUT_ONE, $BUT_ONE, -1
  mul     $SCRATCH, $WORKER, $Z_NEXT
  shl     $SCRATCH, $SCRATCH, PAIR_LOG2
  add     $Z, $Z, $SCRATCH
  mul     $SCRATCH, $WORKER, $X_NEXT
  shl     $SCRATCH, $SCRATCH, HALF_LOG2
  add     $X, $X, $SCRATCH
  // The last store and the last load of a row step to the worker's next row.
  mul     $Z_NEXT, $Z_NEXT, CTXT_WORKERS
  sub     $Z_NEXT, $Z_NEXT, $BUT_ONE
  mul     $X_NEXT, $X_NEXT, CTXT_WORKERS
  shl     $SCRATCH, $BUT_ONE, 1
  add     $SCRATCH, $SCRATCH, 1
  mul     $SCRATCH, $SCRATCH, $STEP
  sub     $X_NEXT, $X_NEXT, $SCRATCH
.Lpermute_16_row:
  ldb16step $a0, $mzero, $X+=, $STEP
  ALIGNED_RPT permute_16, $BUT_ONE, loop
.Lpermute_16_loop:
  { ldb16step $a1, $mzero, $X+=, $STEP ; fnop }
  { ldb16step $a0, $mzero, $X+=, $STEP ; sort4x16lo $a2, $a0, $a1 }
  { st32step $a2, $mzero, $Z+=, 1 ; fnop }
.Lpermute_16_loop_end:
  ldb16step $a1, $mzero, $X+=, $X_NEXT
  sort4x16lo $a2, $a0, $a1
  st32step $a2, $mzero, $Z+=, $Z_NEXT
  brnzdec $COUNT, .Lpermute_16_row
  VECTOR_END permute_16

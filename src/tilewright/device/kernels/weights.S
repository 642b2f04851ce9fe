// to_weights_f16: a matrix of halves [inner][columns] as blocks of weights: 16 columns × 16 inner
// elements, each column's inner elements together, all blocks of 16 columns after another.
//
//   $m2 z             multiple of 8
//   $m3 x             multiple of 4; does not overlap z
//   $m4 row pitch     words from an inner element to the next
//   $m5 panel pitch   bytes from 16 columns to the next 16
//   $m6 inner         blocks of 16 inner elements, at least 1
//   $m7 panels        blocks of 16 columns, at least 1
//
// From row-major memory the pitches are columns / 2 and 32, from panels of 16 columns 8 and
// inner × 32. A worker takes every sixth pair of columns; four inner elements of a pair take six
// bundles.

#include "vector.inc"

#define ROW_PITCH m6
#define BUT_ONE   m7
#define PANEL     m8
#define Z_PANEL   m9
#define PAIR      m10
#define LEFT      m11
#define X_AT      m1
#define Z_AT      m2

#define PAIRS_LOG2 3
#define PAIRS (1 << PAIRS_LOG2)
#define BLOCK_ATOMS 64
#define BLOCK_BYTES_LOG2 9
#define COLUMN_ATOMS 4
#define PAIR_Z_BYTES_LOG2 6

#define NEXT(register) ld32step register, $mzero, $X_AT+=, $ROW_PITCH

// Four inner elements of two columns, of which $a0:2 hold the first three; the main lane loads the
// fourth, and the first three of the next four.
.macro FOUR_ROWS to_next
  { NEXT($a3) ; sort4x16lo $a4, $a0, $a1 }
  { NEXT($a0) ; sort4x16hi $a6, $a0, $a1 }
  { NEXT($a1) ; sort4x16lo $a5, $a2, $a3 }
  { NEXT($a2) ; sort4x16hi $a7, $a2, $a3 }
  { st64  $a6:7, $Z_AT, $mzero, COLUMN_ATOMS ; fnop }
  { st64step $a4:5, $mzero, $Z_AT+=, \to_next ; fnop }
.endm

.macro LAST_FOUR_ROWS
  { NEXT($a3) ; sort4x16lo $a4, $a0, $a1 }
  sort4x16hi $a6, $a0, $a1
  sort4x16lo $a5, $a2, $a3
  sort4x16hi $a7, $a2, $a3
  st64    $a6:7, $Z_AT, $mzero, COLUMN_ATOMS
  st64    $a4:5, $Z_AT, $mzero, 0
.endm

  VECTOR_SUPERVISOR to_weights_f16, m2, m3, m4, m5, m6, m7
  WORKER_START to_weights_f16
  ld32    $COUNT, $mvertex_base, $mzero, 5
  shl     $COUNT, $COUNT, PAIRS_LOG2
  TAKE_SHARE
  brz     $COUNT, .Lto_weights_f16_done
  mov     $PAIR, $WORKER
  add     $LEFT, $COUNT, -1
  ld32    $ROW_PITCH, $mvertex_base, $mzero, 2
  ld32    $PANEL, $mvertex_base, $mzero, 3
  ld32    $BUT_ONE, $mvertex_base, $mzero, 4
  shl     $Z_PANEL, $BUT_ONE, BLOCK_BYTES_LOG2
  add     $BUT_ONE, $BUT_ONE, -1
.Lto_weights_f16_pair:
  ld32    $Z_AT, $mvertex_base, $mzero, 0
  ld32    $X_AT, $mvertex_base, $mzero, 1
  shr     $SCRATCH, $PAIR, PAIRS_LOG2
  mul     $Z, $SCRATCH, $Z_PANEL
  mul     $SCRATCH, $SCRATCH, $PANEL
  add     $Z_AT, $Z_AT, $Z
  add     $X_AT, $X_AT, $SCRATCH
  and     $SCRATCH, $PAIR, PAIRS - 1
  shl     $Z, $SCRATCH, PAIR_Z_BYTES_LOG2
  shl     $SCRATCH, $SCRATCH, 2
  add     $Z_AT, $Z_AT, $Z
  add     $X_AT, $X_AT, $SCRATCH
  NEXT($a0)
  NEXT($a1)
  NEXT($a2)
  ALIGNED_RPT to_weights_f16, $BUT_ONE, loop
.Lto_weights_f16_loop:
  FOUR_ROWS 1
  FOUR_ROWS 1
  FOUR_ROWS 1
  FOUR_ROWS BLOCK_ATOMS - 3
.Lto_weights_f16_loop_end:
  FOUR_ROWS 1
  FOUR_ROWS 1
  FOUR_ROWS 1
  LAST_FOUR_ROWS
  add     $PAIR, $PAIR, CTXT_WORKERS
  brnzdec $LEFT, .Lto_weights_f16_pair
  VECTOR_END to_weights_f16

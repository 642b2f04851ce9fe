// An array and a row that all its rows share: z[p][r][…] = x[p][r][…] ∘ v[p][…].
//
//   add_row_f16, sub_row_f16, mul_row_f16, add_row_f32, sub_row_f32, mul_row_f32:
//     $m2 z, $m3 x, $m4 v   byte addresses, multiples of 8; z may be x
//     $m5 rows              at least 1
//     $m6 width             atoms of a row in a panel, at least 1
//     $m7 panels            at least 1; 1 for row-major arrays
//
// A worker takes every sixth column of atoms, holds the atom of v and walks down the rows: two bundles
// for each.

#include "vector.inc"

#define COLUMN m0
#define V      m2
#define FURTHER m4
#define WIDTH  m6
#define PANEL  m7
#define LEFT   m8
#define X_AT   m9
#define Z_AT   m10

.macro WITH_ROW name operation
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5, m6, m7
  WORKER_START \name
  ld32    $WIDTH, $mvertex_base, $mzero, 4
  ld32    $COUNT, $mvertex_base, $mzero, 5
  mul     $COUNT, $COUNT, $WIDTH
  TAKE_SHARE
  brz     $COUNT, .L\name\()_done
  add     $LEFT, $COUNT, -1
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  ld32    $V, $mvertex_base, $mzero, 2
  ld32    $FURTHER, $mvertex_base, $mzero, 3
  mul     $PANEL, $FURTHER, $WIDTH
  shl     $PANEL, $PANEL, 3
  add     $FURTHER, $FURTHER, -1
  shl     $SCRATCH, $COLUMN, 3
  add     $V, $V, $SCRATCH
.L\name\()_column:
  cmpult  $SCRATCH, $COLUMN, $WIDTH
  brnz    $SCRATCH, .L\name\()_found
  sub     $COLUMN, $COLUMN, $WIDTH
  add     $X, $X, $PANEL
  add     $Z, $Z, $PANEL
  bri     .L\name\()_column
.L\name\()_found:
  shl     $SCRATCH, $COLUMN, 3
  add     $X_AT, $X, $SCRATCH
  add     $Z_AT, $Z, $SCRATCH
  ld64step $Y_ATOM, $mzero, $V+=, CTXT_WORKERS
  ld64step $X_ATOM, $mzero, $X_AT+=, $WIDTH
  ALIGNED_RPT \name, $FURTHER, loop
.L\name\()_loop:
  { ld64step $X_ATOM, $mzero, $X_AT+=, $WIDTH ; \operation $Z_ATOM, $X_ATOM, $Y_ATOM }
  { st64step $Z_ATOM, $mzero, $Z_AT+=, $WIDTH ; fnop }
.L\name\()_loop_end:
  { add   $COLUMN, $COLUMN, CTXT_WORKERS ; \operation $Z_ATOM, $X_ATOM, $Y_ATOM }
  st64step $Z_ATOM, $mzero, $Z_AT+=, $WIDTH
  brnzdec $LEFT, .L\name\()_column
  VECTOR_END \name
.endm

  WITH_ROW add_row_f16, f16v4add
  WITH_ROW sub_row_f16, f16v4sub
  WITH_ROW mul_row_f16, f16v4mul
  WITH_ROW add_row_f32, f32v2add
  WITH_ROW sub_row_f32, f32v2sub
  WITH_ROW mul_row_f32, f32v2mul

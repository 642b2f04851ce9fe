// Panels and a row or a column that each of them meets: z[p][r][c] = x[p][r][c] ∘ v[p][c] or ∘ v[r].
//
//   add_row_f16, sub_row_f16, mul_row_f16, add_row_f32, sub_row_f32, mul_row_f32:
//     $m2 z, $m3 x, $m4 v   byte addresses, multiples of 8; z may be x
//     $m5 rows              at least 1
//     $m6 width             atoms of a row in a panel, at least 1
//     $m7 panels            at least 1; 1 for row-major arrays
//   add_column_f16, …, mul_column_f32:  the same, with `rows` elements at $m4 for all panels
//
// With a row, a worker takes every sixth column of atoms, holds the atom of v and walks down the rows:
// two bundles for each. With a column, it takes every sixth row of all panels, holds the row's element
// of v and walks along the row: two bundles for each atom, and four steps.

#include "vector.inc"

#define COLUMN m0
#define V      m2
#define FURTHER m4
#define WIDTH  m6
#define PANEL  m7
#define LEFT   m8
#define X_AT   m9
#define Z_AT   m10

// Of WITH_COLUMN.
#define PANELS    m4
#define V_AT      m7
#define V_BYTES   m8
#define BUT_ONE   m9
#define X_TO_NEXT m10
#define Z_TO_NEXT m11

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

// `load` puts an element of v, of 2 ** size_log2 bytes, into all of $a2. V is the end of v and V_AT the
// distance from there, so its sign says when the panel's rows are over. Panels follow each other, so
// for X and Z their rows are one sequence.
.macro WITH_COLUMN name operation load size_log2
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5, m6, m7
  WORKER_START \name
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  ld32    $V, $mvertex_base, $mzero, 2
  ld32    $V_BYTES, $mvertex_base, $mzero, 3
  ld32    $WIDTH, $mvertex_base, $mzero, 4
  ld32    $PANELS, $mvertex_base, $mzero, 5
  shl     $V_BYTES, $V_BYTES, \size_log2
  add     $V, $V, $V_BYTES
  shl     $V_AT, $WORKER, \size_log2
  mul     $SCRATCH, $WORKER, $WIDTH
  shl     $SCRATCH, $SCRATCH, 3
  add     $X, $X, $SCRATCH
  add     $Z, $Z, $SCRATCH
  // From the end of a row to the worker's next one in bytes; from the last atom in atoms.
  mul     $X_TO_NEXT, $WIDTH, (CTXT_WORKERS - 1) * 8
  mul     $Z_TO_NEXT, $WIDTH, CTXT_WORKERS - 1
  add     $Z_TO_NEXT, $Z_TO_NEXT, 1
  add     $BUT_ONE, $WIDTH, -1
.L\name\()_panel:
  brz     $PANELS, .L\name\()_done
  add     $PANELS, $PANELS, -1
  sub     $V_AT, $V_AT, $V_BYTES
  brpos   $V_AT, .L\name\()_panel
.L\name\()_row:
  \load   $a2, $V, $V_AT+=, CTXT_WORKERS
  { ld64step $X_ATOM, $mzero, $X+=, 1 ; mov $a3, $a2 }
  ALIGNED_RPT \name, $BUT_ONE, loop
.L\name\()_loop:
  { ld64step $X_ATOM, $mzero, $X+=, 1 ; \operation $Z_ATOM, $X_ATOM, $Y_ATOM }
  { st64step $Z_ATOM, $mzero, $Z+=, 1 ; fnop }
.L\name\()_loop_end:
  { add   $X, $X, $X_TO_NEXT ; \operation $Z_ATOM, $X_ATOM, $Y_ATOM }
  st64step $Z_ATOM, $mzero, $Z+=, $Z_TO_NEXT
  brneg   $V_AT, .L\name\()_row
  bri     .L\name\()_panel
  VECTOR_END \name
.endm

  WITH_ROW add_row_f16, f16v4add
  WITH_ROW sub_row_f16, f16v4sub
  WITH_ROW mul_row_f16, f16v4mul
  WITH_ROW add_row_f32, f32v2add
  WITH_ROW sub_row_f32, f32v2sub
  WITH_ROW mul_row_f32, f32v2mul

  WITH_COLUMN add_column_f16, f16v4add, ldb16step, 1
  WITH_COLUMN sub_column_f16, f16v4sub, ldb16step, 1
  WITH_COLUMN mul_column_f16, f16v4mul, ldb16step, 1
  WITH_COLUMN add_column_f32, f32v2add, ld32step, 2
  WITH_COLUMN sub_column_f32, f32v2sub, ld32step, 2
  WITH_COLUMN mul_column_f32, f32v2mul, ld32step, 2

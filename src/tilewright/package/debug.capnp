# Where code comes from (a blob of a package). Columns are as in package.capnp.

@0xf2749be05a1c83d6;

struct Debug {
  strings @0 :List(Text);
  tile @1 :Data;             # u16, physical ids, rising
  tileCode @2 :Data;         # u32, the code image that each tile runs; tiles share images
  symbols @3 :Symbols;
  lines @4 :Lines;
  ranges @5 :Ranges;
  origins @6 :Origins;
  tileText @7 :Data;         # u32, the text whose ranges each tile has; tiles share texts
}

struct Symbols {
  code @0 :Data;             # u32, a code image
  address @1 :Data;          # u32
  size @2 :Data;             # u32, bytes; 0 for unknown
  name @3 :Data;             # u32, a string
}

struct Lines {
  code @0 :Data;             # u32
  address @1 :Data;          # u32, from here to the next row's
  file @2 :Data;             # u32, a string
  line @3 :Data;             # u32, from 1; 0 for no line
}

struct Ranges {
  text @0 :Data;             # u32, a text: what was written for a tile itself
  address @1 :Data;          # u32
  size @2 :Data;             # u32, bytes
  origin @3 :Data;           # u32, a row of origins
}

struct Origins {
  operation @0 :Data;        # u32, a string: the operation of the graph
  value @1 :Data;            # u32, a string or none: the value that is made
  reason @2 :Data;           # u32, a string: why there is this work
  source @3 :Data;           # u32, a string or none: the line of a program, or node of a model
}

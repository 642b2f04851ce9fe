# What cycle counters mean (a blob of a package), and what they showed (a .ipuprof file).
# Columns are as in package.capnp.

@0xa86e1d40c95f2b37;

const magic :UInt64 = 0x00464f5250555049;
# The bytes "IPUPROF" and a zero.

struct Steps {
  # Lists of steps. Each tile follows one of them; tiles that do the same share one.
  strings @0 :List(Text);
  tile @1 :Data;             # u16, physical ids of the tiles with counters, rising
  tileList @2 :Data;         # u32, the list of each
  list @3 :Data;             # u32, the list of each step, from here on
  phase @4 :Data;            # u32
  epoch @5 :Data;            # u32
  kind @6 :Data;             # u8, of StepKind
  operation @7 :Data;        # u32, a string
  kernel @8 :Data;           # u32, a string or none
  planned @9 :Data;          # u32, cycles; 0xffffffff for unknown
  activityStep @10 :Data;    # u32, the step of each activity, from here on
  activityKind @11 :Data;    # u8, of ActivityKind
  activityStart @12 :Data;   # u32, cycles from the start of the step
  activityEnd @13 :Data;     # u32, cycles
  noteStep @14 :Data;        # u32, the step of each note, from here on
  noteName @15 :Data;        # u32, a string
  noteValue @16 :Data;       # u32, a string
}

enum StepKind { compute @0; exchange @1; synchronisation @2; idle @3; host @4; }
enum ActivityKind { send @0; receive @1; partnerBusy @2; }

struct ProfilePlan {
  steps @0 :Steps;
  tensor @1 :Text;           # the output that holds the counters
}

struct Profile {
  magic @0 :UInt64;
  major @1 :UInt16;
  minor @2 :UInt16;
  producer @3 :Text;
  package @4 :Data;          # the hash of the package that ran, or empty
  clockHz @5 :UInt64;        # 0 for unknown
  steps @6 :Steps;
  samples @7 :Data;          # u32: for each tile one more than it has steps
}

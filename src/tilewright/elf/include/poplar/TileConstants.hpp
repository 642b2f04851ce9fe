/* For published kernels, which include this by its name in the vendor's SDK. The content is ours. */
#include "tile_defines.h"

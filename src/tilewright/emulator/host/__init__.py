"""The host's side of the chip, in parts; `tilewright.emulator.host_port` puts them together.

- `marks`: how many barriers may complete without the host
- `space`: attached memory
- `packets`: what tiles have sent; `headers`: what packets ask for; `findings`: what is wrong
- `phase`: requests and streams from one barrier to the next
- `carrying`: when packets are served, and the words that move

`packets`, `headers` and `carrying` have compiled functions, which take a moment to load.
"""

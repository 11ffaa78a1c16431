Help goes to standard output and exits 0.

  $ fp8moe version
  $ fp8moe --version
  $ fp8moe help
  $ fp8moe help compare
  $ fp8moe compare --help | head -n 1
  $ fp8moe help names
  $ for command in verify compare run inspect synth recipes doctor; do fp8moe help $command || echo failed; done | awk 'length > 100'

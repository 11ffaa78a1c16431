A machine on which these tests run is fit.

  $ fp8moe doctor | head -n 7
  fit: this machine computes what the emulator needs
    ok    rounding           to nearest, ties to even
    ok    subnormal results  kept
    ok    subnormal operands read
    ok    dots, portable     exact where large terms cancel
    ok    dots, kernels      exact where large terms cancel
    ok    dots, BLAS         exact where large terms cancel
  $ fp8moe doctor --format json -o doctor.json
  $ query doctor.json fit checks.0.found checks.3
  true
  to nearest, ties to even
  {"name": "dots, portable", "fit": true, "found": "exact where large terms cancel"}
  $ validate doctor.json
  doctor.json: fp8moe.doctor/1: valid

A library that changes how its host rounds is found out: exit code 5.

  $ preload="LD_PRELOAD=$(dirname $(command -v fp8moe))/libunfit.so ASAN_OPTIONS=verify_asan_link_order=0"; echo "$preload" > preload
  $ env $(cat preload) fp8moe doctor | head -n 2; echo ${PIPESTATUS[0]}
  unfit: results from this process cannot be trusted
    UNFIT rounding           towards plus infinity
  5
  $ env $(cat preload) fp8moe doctor --format json > doctor.json
  [5]
  $ query doctor.json fit checks.0
  false
  {"name": "rounding", "fit": false, "found": "towards plus infinity"}

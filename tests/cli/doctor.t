A machine on which these tests run is fit.

  $ fp8moe doctor | head -n 7
  $ fp8moe doctor --format json -o doctor.json
  $ query doctor.json fit checks.0.found checks.3
  $ validate doctor.json

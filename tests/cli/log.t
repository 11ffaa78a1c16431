Server logs in upstream's formats, among other lines.

Without the line that verify mode writes when it is imported nothing can be told.

  $ make_log off.log; fp8moe log off.log
  inconclusive: off.log
                   cannot tell: verify mode never said that it is on, and without it upstream logs
                   nothing of the combine, not even that it is used
    verify mode    never said that it is on
    FP8-ULP        no warning
    out of range   no warning
  [4]
  $ make_log on.log on; fp8moe log on.log
  clean: on.log
                   verify mode is on and silent: within its bars, or never reached
    verify mode    says that it is on
    FP8-ULP        no warning
    out of range   no warning
    workers        Worker_TP0_EP0 pid=100
                   Worker_TP1_EP1 pid=101

In-range warnings alone prove nothing: that measure grows with the outputs. Two ranks write one maximum each; the same
maximum twice is two calls.

  $ make_log ulp.log on ulp:27.0 ulp:3.0 ulp:27.0; fp8moe log ulp.log
  inconclusive: ulp.log
                   in-range warnings only: that measure grows with the size of the outputs, not with
                   their error; dump the layer and verify it
    verify mode    says that it is on
    FP8-ULP        layer calls 3 (lines 6, the first is 6)
                   the largest is 27, on line 6
    that means     27 E4M3 codes apart on one side of zero, or 0.05273 apart across it; where one side
                   is all zero, the other's largest magnitude is 0.08594
    out of range   no warning
    workers        Worker_TP0_EP0 pid=100
                   Worker_TP1_EP1 pid=101
  [4]
  $ make_log across.log on ulp:1023.5; fp8moe log across.log | grep -A 2 means
    that means     two values on either side of zero, 1.999 apart
    out of range   no warning
    workers        Worker_TP0_EP0 pid=100

Beyond 448, or with one side not finite, they do.

  $ make_log oor.log on ulp:4.0 oor:0.0625 oor:0.25; fp8moe log oor.log
  different: oor.log
                   elements beyond 448 differ by more than 5 percent
    verify mode    says that it is on
    FP8-ULP        layer calls 1 (lines 2, the first is 6)
                   the largest is 4, on line 6
    that means     4 E4M3 codes apart on one side of zero, or 0.007812 apart across it; where one side
                   is all zero, the other's largest magnitude is 0.007812
    out of range   layer calls 2 (lines 4, the first is 9)
                   the largest is 0.25, on line 12
    workers        Worker_TP0_EP0 pid=100
                   Worker_TP1_EP1 pid=101
  [1]
  $ make_log zero.log on oor:1.0; fp8moe log zero.log | head -n 3
  different: zero.log
                   one side is not finite, or zero where the other is beyond 448
    verify mode    says that it is on
  $ make_log nan.log on ulp:inf; fp8moe log nan.log | head -n 5
  different: nan.log
                   a maximum is no finite number
    verify mode    says that it is on
    FP8-ULP        layer calls 1 (lines 2, the first is 6)
                   lines without a finite number: 2

Pipeline stages are groups of their own; a restarted server is one too; a log without workers counts lines.

  $ make_log stages.log stage:0 on ulp:3.0 stage:1 on ulp:3.0; fp8moe log stages.log | grep FP8-ULP
    FP8-ULP        layer calls 2 (lines 4, the first is 6)
  $ make_log again.log on ulp:3.0 ulp:3.0 pid:500 on ulp:3.0; fp8moe log again.log | grep FP8-ULP
    FP8-ULP        layer calls 3 (lines 6, the first is 6)
  $ make_log bare.log bare ranks:1 on ulp:3.0 ulp:3.0; fp8moe log bare.log
  inconclusive: bare.log
                   in-range warnings only: that measure grows with the size of the outputs, not with
                   their error; dump the layer and verify it
    verify mode    says that it is on
    FP8-ULP        layer calls 2 (lines 2, the first is 5)
                   the largest is 3, on line 5
    that means     3 E4M3 codes apart on one side of zero, or 0.005859 apart across it; where one side
                   is all zero, the other's largest magnitude is 0.005859
    out of range   no warning
  [4]
  $ make_log colour.log colour on ulp:5.0; fp8moe log colour.log | grep FP8-ULP
    FP8-ULP        layer calls 1 (lines 2, the first is 6)

A rank that wrote less than the others:

  $ make_log cut.log on ulp:3.0 only:1 ulp:3.0; fp8moe log cut.log
  inconclusive: cut.log
                   in-range warnings only: that measure grows with the size of the outputs, not with
                   their error; dump the layer and verify it
    verify mode    says that it is on
    FP8-ULP        layer calls 2 (lines 3, the first is 6)
                   the largest is 3, on line 6
                   ranks differ in what they wrote: the log is cut, or they are not one group
    that means     3 E4M3 codes apart on one side of zero, or 0.005859 apart across it; where one side
                   is all zero, the other's largest magnitude is 0.005859
    out of range   no warning
    workers        Worker_TP0_EP0 pid=100
                   Worker_TP1_EP1 pid=101
  [4]
  $ make_log alone.log on only:0 ulp:3.0 only:1 ulp:4.0; fp8moe log alone.log | grep -A 2 FP8-ULP
    FP8-ULP        layer calls 2 (lines 2, the first is 6)
                   the largest is 4, on line 8
                   ranks differ in what they wrote: the log is cut, or they are not one group

Several files, standard input, files that cannot be read:

  $ fp8moe log on.log ulp.log | grep -v "^ "
  clean: on.log
  
  inconclusive: ulp.log
  $ cat oor.log | fp8moe log - | head -n 1
  different: standard input
  $ fp8moe log on.log missing.log
  fp8moe: missing.log: No such file or directory
  clean: on.log
                   verify mode is on and silent: within its bars, or never reached
    verify mode    says that it is on
    FP8-ULP        no warning
    out of range   no warning
    workers        Worker_TP0_EP0 pid=100
                   Worker_TP1_EP1 pid=101
  [3]
  $ fp8moe log
  fp8moe: log needs FILE...
  Try 'fp8moe help log'.
  [2]
  $ : > empty.log; fp8moe log empty.log | head -n 1
  inconclusive: empty.log

JSON:

  $ fp8moe log oor.log bare.log --format json -o log.json; validate log.json
  log.json: fp8moe.log/1: valid
  $ query log.json verdict logs.0.in_range.calls logs.0.out_of_range.calls logs.0.out_of_range.largest logs.1.workers
  different
  1
  2
  0.25
  []

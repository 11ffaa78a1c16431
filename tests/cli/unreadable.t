Inputs that cannot be read: one sentence with its place, exit code 3.

  $ fp8moe verify nothing.safetensors
  fp8moe: nothing.safetensors: cannot open: no such file or folder (errno 2)
  [3]
  $ fp8moe inspect data
  fp8moe: data: holds neither model.safetensors.index.json nor model.safetensors: is this a model folder?
  [3]
  $ head -c 100 /dev/zero > zero.safetensors; fp8moe inspect zero.safetensors
  fp8moe: zero.safetensors: header length 0 leaves no room for {} (byte 0)
  [3]
  $ : > empty.safetensors; fp8moe inspect empty.safetensors
  fp8moe: empty.safetensors: is empty (0 bytes)
  [3]
  $ fp8moe synth --shape T=1,E=2,K=1,H=64,I=32 --recipe gather --target ocp -o a.safetensors > /dev/null
  $ head -c 9000 a.safetensors > short.safetensors; fp8moe verify short.safetensors
  fp8moe: short.safetensors: truncated: needs 12584 data bytes, has 7944 (byte 9000)
  [3]
  $ edit_dump a.safetensors b.safetensors drop:w13_weight_scale_inv; fp8moe verify b.safetensors
  fp8moe: b.safetensors: an FP8 weight has no scale (tried _scale_inv, _scale): its codes alone are not values
  [3]
  $ edit_dump a.safetensors b.safetensors drop:hidden_states; fp8moe verify b.safetensors
  fp8moe: b.safetensors: no hidden_states
  [3]
  $ edit_dump a.safetensors b.safetensors 'set:topk_ids[0]=07'; fp8moe verify b.safetensors
  fp8moe: b.safetensors: tensor 'topk_ids': token 0, slot 0: id 7, but the model has experts 0 to 1
  [3]

With one dump unreadable the others are judged still; alone it leaves no report.

  $ fp8moe verify nothing.safetensors a.safetensors | head -n 1; echo ${PIPESTATUS[0]}
  fp8moe: nothing.safetensors: cannot open: no such file or folder (errno 2)
  error: nothing.safetensors: cannot open: no such file or folder (errno 2)
  3
  $ fp8moe verify nothing.safetensors -o report.txt; ls report.txt
  fp8moe: nothing.safetensors: cannot open: no such file or folder (errno 2)
  ls: cannot access 'report.txt': No such file or directory
  [2]

A report that cannot be written is an error too.

  $ fp8moe inspect a.safetensors -o nowhere/report.txt
  fp8moe: nowhere/report.txt: cannot create a file beside it: no such file or folder (errno 2)
  [3]
  $ fp8moe run a.safetensors -o nowhere/out.safetensors
  fp8moe: nowhere/out.safetensors: cannot create a file beside it: no such file or folder (errno 2)
  [3]
  $ fp8moe recipes > /dev/full
  fp8moe: cannot write to standard output
  [3]

Nor does what stood there suffer when it would grow too large: a limit, here, as a full disk elsewhere.

  $ mkdir kept; echo old > kept/o.safetensors; ulimit -f 8; fp8moe synth --shape T=1,E=2,K=1,H=64,I=64 --recipe gather --target ocp -o kept/o.safetensors 2>&1 | sed 's|/.*/kept|kept|'; echo ${PIPESTATUS[0]}; ls -A kept; cat kept/o.safetensors
  fp8moe: kept/o.safetensors: tensor 'w13_weight': cannot write: the file would exceed the largest size allowed (errno 27)
  3
  o.safetensors
  old

Case files: layers, settings and expected verdicts, written down once.

  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe gather --target gaudi2 -o a.safetensors > /dev/null
  $ fp8moe synth --shape T=3,E=4,K=2,H=64,I=32 --recipe dequant --target gaudi2 -o b.safetensors > /dev/null
  $ printf 'target: gaudi2\nlayers:\n  - {title: gathered, files: a.safetensors, expect: same}\n' > case.yaml
  $ printf '  - title: not gathered\n    files: [b.safetensors]\n    recipe: gather\n    expect: different\n' >> case.yaml
  $ fp8moe verify case.yaml --format json -o report.json; echo $?
  0
  $ query report.json dumps.0.layer dumps.0.verdict dumps.1.layer dumps.1.verdict dumps.1.expected
  gathered
  same
  not gathered
  different
  different
  $ query report.json dumps.0.settings.target dumps.1.settings.recipe
  {"value": "gaudi2", "source": "case"}
  {"value": "gather", "source": "case"}
  $ validate report.json
  report.json: fp8moe.report/1: valid

An expectation that is not met decides the exit code; the command line wins over the file.

  $ sed 's/expect: different/expect: same/' case.yaml > other.yaml; fp8moe verify other.yaml > out; echo $?; grep expected out
  1
    expected       same: as the case file says
      elements       192 identical, 0 expected, 0 explained, 0 possible, 0 impossible, 0 non-finite on
    expected       same: NOT as the case file says
      elements       7 identical, 0 expected, 0 explained, 0 possible, 185 impossible, 0 non-finite on
      worst               row   column       expected         dumped   bf16    FP8  codes
  $ fp8moe verify other.yaml --recipe dequant > out; echo $?; grep expected out
  1
    expected       same: NOT as the case file says
      elements       7 identical, 0 expected, 0 explained, 73 possible, 112 impossible, 0 non-finite
      worst               row   column       expected         dumped   bf16    FP8  codes
    expected       same: as the case file says
      elements       192 identical, 0 expected, 0 explained, 0 possible, 0 impossible, 0 non-finite on

Paths start at the file's folder. A decimal comma is not read as a point (case L01).

  $ mkdir sub && cp a.safetensors sub && echo '{files: a.safetensors, routed_scaling_factor: 1.0}' > sub/c.yaml && fp8moe verify sub/c.yaml | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical
  $ echo '{files: a.safetensors, routed_scaling_factor: "0,5"}' > c.yaml; fp8moe verify c.yaml
  fp8moe: c.yaml: line 1, column 47: --routed-scaling-factor '0,5': expected a finite number
  [3]
  $ echo '{files: a.safetensors, routed_scaling_factor: 0.5}' > c.yaml; LC_ALL=de_DE.UTF-8 fp8moe verify c.yaml --format json -o report.json; query report.json dumps.0.settings.routed_scaling_factor
  {"value": 0.5, "source": "case"}

Files by a pattern, in the order of their names; a file of just that name comes first. The case file's folder is meant as it is written.

  $ mkdir 'd[1]' && for name in x1 x2 '[x]1'; do cp a.safetensors "d[1]/$name.safetensors"; done; echo 'files: x*.safetensors' > 'd[1]/c.yaml'; fp8moe verify 'd[1]/c.yaml' | grep '^d'
  d[1]/x1.safetensors: same
  d[1]/x2.safetensors: same
  $ echo "files: '[x]1.safetensors'" > 'd[1]/c.yaml'; fp8moe verify 'd[1]/c.yaml' | grep '^d'
  d[1]/[x]1.safetensors: same
  $ echo "files: 'y*'" > c.yaml; fp8moe verify c.yaml
  fp8moe: c.yaml: line 1, column 8: no file fits the pattern 'y*'
  [3]

Rows of one's own.

  $ printf 'recipes:\n  my-gather: {based_on: gather, with: {sum: bf16}, axes: {plain sum: sum=f32}}\n' > rows.yaml
  $ printf 'targets:\n  strict-gaudi2: {based_on: gaudi2, with: {dot_slack: 2, silu_slack: 0}}\n' >> rows.yaml
  $ printf 'layers:\n  - {files: a.safetensors, recipe: my-gather, target: strict-gaudi2}\n' >> rows.yaml
  $ fp8moe verify rows.yaml | grep -E '^[a-z]+:|open axis|assumed'
  same: output is the same as recipe my-gather (evidence: assumed) with plain sum (an open axis):
      recipe         my-gather, chosen by option; evidence: assumed, a case file, based on gather
      open axis      plain sum
      assumed        dots within 2 * 2^-24 * sum|a b|, silu within 0 step in 12.5 % of its values
  $ sed 's/dot_slack/fp8_max/' rows.yaml > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 4, column 53: a target may change dot_slack, silu_slack (steps, 0 to 100) and silu_slack_rate (0 to 1), not 'fp8_max: 2'
  [3]
  $ sed 's/sum: bf16/sum: bf17/' rows.yaml > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 2, column 45: column 'sum' of a recipe cannot be 'bf17'; it is one of none, f64, f32, tf32, bf16
  [3]
  $ sed 's/my-gather: /stock: /' rows.yaml > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 2, column 3: there is a recipe 'stock' already
  [3]

What is wrong is said with line and column.

  $ printf 'files: a.safetensors\ntop-k: 2\n' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 2, column 1: unknown key 'top-k'
  [3]
  $ printf 'files: a.safetensors\ntop_k: 2\ntop_k: 3\n' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 3, column 1: key 'top_k' stands twice, first in line 2
  [3]
  $ printf 'files: a.safetensors\ntop_k: [2]\n' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 2, column 8: top_k must be text, not a list
  [3]
  $ printf 'files: a.safetensors\ntop_k: two\n' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 2, column 8: --top-k 'two': expected a whole number from 1 to 2147483647
  [3]
  $ printf 'a: &a [1]\nb: [*a, *a]\n' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 1, column 4: anchors and aliases ('a') are not used here
  [3]
  $ printf 'layers:\n  - {target: gaudi2}\n' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 2, column 5: a layer needs files
  [3]
  $ printf 'files: [a\n' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 2, column 1: did not find expected ',' or ']'
  [3]
  $ printf '' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 1, column 1: the file is empty
  [3]
  $ printf 'files: a\n---\nfiles: b\n' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 2, column 1: a second document: one file holds one
  [3]
  $ fp8moe verify missing.yaml
  fp8moe: missing.yaml: cannot open: No such file or directory
  [3]
  $ printf 'files: a.safetensors\nexpect: ok\n' > bad.yaml; fp8moe verify bad.yaml
  fp8moe: bad.yaml: line 2, column 9: expect 'ok': same, different or inconclusive
  [3]
  $ fp8moe init a.safetensors -o new.yaml && fp8moe verify new.yaml | grep -E '^same|expected'
  same: output is the same as recipe gather (evidence: source): every row is identical
    expected       same: as the case file says
      elements       192 identical, 0 expected, 0 explained, 0 possible, 0 impossible, 0 non-finite on
  $ edit_dump a.safetensors bits.safetensors dtype:output=U16 rename:output=mine; fp8moe init bits.safetensors --as mine=bf16 --name output=mine -o new.yaml && grep -A 1 -E 'names:|as:' new.yaml && fp8moe verify new.yaml | head -n 1
      names:
        "output": "mine"
      as:
        "mine": "bf16"
  same: mine is the same as recipe gather (evidence: source): every row is identical
  $ mkdir -p below; fp8moe init a.safetensors -o below/new.yaml && fp8moe verify below/new.yaml | head -n 1
  same: output is the same as recipe gather (evidence: source): every row is identical

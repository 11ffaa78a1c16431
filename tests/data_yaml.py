"""Case files: broken ones named after what is broken, whose sentences tests/cli/hostile.t lists, and one that says
everything a case file can say. The fuzz target starts from them."""

HOSTILE = {
    'alias-bomb': 'a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nfiles: [*b, *b]\n',
    'alias-of-nothing': 'files: *a\n',
    'alias-to-itself': '&a files: [*a]\n',
    'anchor-on-key': '&a files: x.pt\n',
    'axes-too-many': 'recipes: {r: {based_on: gather, axes: {' +
                     ', '.join(f'a{i}: sum=f32' for i in range(13)) + '}}}\nfiles: x.pt\n',
    'axis-of-unknown-column': 'recipes: {r: {based_on: gather, axes: {odd: colour=red}}}\nfiles: x.pt\n',
    'based-on-itself': 'recipes: {r: {based_on: r}}\nfiles: x.pt\n',
    'based-on-missing': 'recipes: {r: {with: {sum: bf16}}}\nfiles: x.pt\n',
    'based-on-unknown': 'targets: {t: {based_on: gaudi9}}\nfiles: x.pt\n',
    'character-control': 'target: gaudi2\nfiles: "x\x01.pt"\n',
    'character-not-utf-8': b'files: "x\xff.pt"\n',
    'character-nul': b'files: x\x00.pt\n',
    'character-nul-escaped': 'files: "x\\0.pt"\n',
    'comment-only': '# nothing\n',
    'deeper-than-16': 'files: ' + '[' * 17 + ']' * 17 + '\n',
    'deeper-than-memory': '[' * 5000,
    'empty': '',
    'escape-unknown': 'files: "x\\q.pt"\n',
    'expect-unknown': 'files: x.pt\nexpect: fine\n',
    'files-map': 'files: {a: b}\n',
    'files-missing': 'target: gaudi2\n',
    'files-of-lists': 'files: [[x.pt]]\n',
    'key-empty': '"": 1\nfiles: x.pt\n',
    'key-is-list': '? [a, b]\n: 1\nfiles: x.pt\n',
    'key-of-a-layer-for-all': 'title: all\nfiles: x.pt\n',
    'key-of-command-line': 'files: x.pt\noutput: report.txt\n',
    'key-twice': 'files: x.pt\ntarget: gaudi2\nfiles: y.pt\n',
    'key-twice-below': 'files: x.pt\nnames: {a: b, a: c}\n',
    'key-unknown': 'files: x.pt\ntopk: 8\n',
    'key-unknown-with-map': 'files: x.pt\nrouter:\n  top_k: 8\n',
    'key-with-dashes': 'files: x.pt\ntop-k: 8\n',
    'layers-empty': 'layers: []\n',
    'layers-map': 'layers: {files: x.pt}\n',
    'layers-of-text': 'layers: [x.pt]\n',
    'list-cut-off': 'files: [x.pt,\n',
    'merge-key': 'files: x.pt\n<<: {top_k: 8}\n',
    'names-list': 'files: x.pt\nnames: [a, b]\n',
    'names-of-list': 'files: x.pt\nnames: {hidden_states: [a]}\n',
    'number-of-two-numbers': 'files: x.pt\nweight_block_size: 128\n',
    'number-too-large': 'files: x.pt\ntop_k: 99999999999999999999\n',
    'number-with-comma': 'files: x.pt\nrouted_scaling_factor: 2,5\n',
    'pattern-before-slash': 'files: /*/*/*/*/*.pt\n',
    'pattern-of-many-stars': 'files: "*a*a*a*a*a*a*a*a*a*a*a*a*b"\n',
    'recipe-of-shipped-name': 'recipes: {stock: {based_on: gather}}\nfiles: x.pt\n',
    'recipe-twice': 'recipes: {r: {based_on: gather}, r: {based_on: stock}}\nfiles: x.pt\n',
    'root-list': '- files: x.pt\n',
    'root-text': 'x.pt\n',
    'tab-as-indent': 'layers:\n\t- files: x.pt\n',
    'tag-of-python': 'files: !!python/object/apply:os.system [reboot]\n',
    'target-not-a-number': 'targets: {t: {based_on: gaudi2, with: {dot_slack: nan}}}\nfiles: x.pt\n',
    'target-slack-negative': 'targets: {t: {based_on: gaudi2, with: {dot_slack: -1}}}\nfiles: x.pt\n',
    'text-cut-off': 'files: "x.pt\n',
    'two-documents': 'files: x.pt\n---\nfiles: y.pt\n',
    'version-9': '%YAML 9.0\n---\nfiles: x.pt\n',
}

LEGAL = {
    'everything': '''\
# What a case file can say.
target: strict-gaudi2
recipe: my-gather
weights_stage: loaded
top_k: 2
num_experts: 8
ep_rank: 1
ep_size: 2
tp_rank: 0
tp_size: 1
renormalize: true
scoring_func: softmax
routed_scaling_factor: 2.5
weight_block_size: 128x128
names: {hidden_states: x, w13_weight: experts.w13}
as: {w13: e4m3fn}
policy: upstream
expect: same
recipes:
  my-gather: {based_on: gather, with: {sum: bf16}, axes: {plain sum: sum=f32}}
  my-other: {based_on: my-gather}
targets:
  strict-gaudi2: {based_on: gaudi2, with: {dot_slack: 2, silu_slack: 0, silu_slack_rate: 0.5}}
layers:
  - title: layer 12, decode
    files: [a.pt, /b.pt]
    weights: model
    layer: 12
  - {files: "c [1].pt", top_k: '4', expect: different}
''',
    'one-layer': 'files: a.pt\ntarget: gaudi2\n',
    'block-texts': 'files: |-\n  a.pt\ntarget: >-\n  gaudi2\n',
    'windows-line-ends': '\ufefffiles: a.pt\r\ntarget: gaudi2\r\n',
}


def files():
    for folder, cases in (('hostile', HOSTILE), ('legal', LEGAL)):
        for name, content in cases.items():
            yield f'{folder}/{name}.yaml', content if isinstance(content, bytes) else content.encode()

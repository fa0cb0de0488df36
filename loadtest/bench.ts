/**
 * `npm run bench -- match|pipeline|…`: a benchmark beside its peer or floor. Each prints one line
 * per figure: name, ours, theirs, ratio.
 */
const BENCHES: Record<string, (argv: string[]) => unknown> = {
  match: async argv => (await import('./match/bench.ts')).benchMatch(argv),
}

const [name = '', ...argv] = process.argv.slice(2)
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
if (bench === undefined) {
  process.stderr.write(`expected one of ${Object.keys(BENCHES).join(', ')}, got "${name}"\n`)
  process.exitCode = 2
} else {
  await bench(argv)
}

import { runSeed } from './run-seed.ts'

const [first = '1', count = '1', events = '300', flag] = process.argv.slice(2)
for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
  const t = performance.now()
  const r = await runSeed({ seed, events: Number(events), isFaultless: flag === 'calm' })
  console.log(
    seed,
    r.violations.length,
    r.hash.slice(0, 8),
    JSON.stringify(r.stats),
    (performance.now() - t).toFixed(0),
    'ms',
    r.coverage.length,
  )
  for (const v of r.violations) console.log('  ', v.invariant, v.text)
  if (r.violations.length && process.env.TRACE) for (const l of r.trace) console.log('    ', l)
}
process.exit(0)

/** What a seed reached: faults, fates, stages. */
import { FATES, STAGES } from '#kernel/domain/fate.ts'
import { type Fault, PIPELINE_FAULTS } from './faults.ts'
import type { World } from './world.ts'

/** What every world can reach: its kind, and faults such as `fault F7`. */
export function reachedIn({ faults, isJoined }: World): Set<string> {
  const found = [...faults.counts.keys()].map(fault => `fault ${fault}`)
  return new Set([isJoined ? 'world joined' : 'world split', ...found])
}

/** The same of a run of many seeds. */
export function wantedOf(faults: readonly Fault[]): string[] {
  return ['world joined', 'world split', ...faults.map(fault => `fault ${fault}`)]
}

/** Names such as `fault F7`, `fate delivered`, `stage group`. */
export function coverageOf(world: World): string[] {
  const reached = reachedIn(world)
  for (const { value } of world.history.values('decisions', 'decision')) {
    reached.add(`fate ${value.fate}`)
    reached.add(`stage ${value.stage}`)
  }
  return [...reached]
}

/** Fates and stages of semantic conditions, which no service judges in this world. */
const OUT_OF_REACH = ['fate held', 'fate rejected', 'fate evaluation-failed', 'stage verdict']

/** Everything that a run of many seeds should reach. */
export function wanted(): string[] {
  const all = [
    ...wantedOf(PIPELINE_FAULTS),
    ...FATES.map(fate => `fate ${fate}`),
    ...STAGES.map(stage => `stage ${stage}`),
  ]
  return all.filter(name => !OUT_OF_REACH.includes(name))
}

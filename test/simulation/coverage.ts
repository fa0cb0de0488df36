/** What a seed reached: faults, fates, stages. */
import { FATES, STAGES } from '#kernel/domain/fate.ts'
import { PIPELINE_FAULTS } from './faults.ts'
import type { World } from './world.ts'

/** Names such as `fault F7`, `fate delivered`, `stage group`. */
export type Coverage = string[]

export function coverageOf({ faults, history, isJoined }: World): Coverage {
  const reached = new Set<string>([isJoined ? 'world joined' : 'world split'])
  for (const fault of faults.counts.keys()) reached.add(`fault ${fault}`)
  for (const { value } of history.values('decisions', 'decision')) {
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
    'world joined',
    'world split',
    ...PIPELINE_FAULTS.map(fault => `fault ${fault}`),
    ...FATES.map(fate => `fate ${fate}`),
    ...STAGES.map(stage => `stage ${stage}`),
  ]
  return all.filter(name => !OUT_OF_REACH.includes(name))
}

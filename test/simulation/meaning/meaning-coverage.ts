/** What a seed of meaning reached: faults, ways to misbehave, fates, and what follows from them. */
import { reachedIn, wantedOf } from '../coverage.ts'
import { MEANING_FAULTS } from './meaning-world.ts'
import type { MeaningRun } from './play-meaning.ts'
import { MCP_MODES } from './scripted-mcp.ts'
import { MODEL_MODES } from './scripted-model.ts'

export function meaningCoverage(run: MeaningRun): string[] {
  const { world, models, servers, settings } = run
  const { history } = world
  const reached = reachedIn(world)
  for (const { mode, isSet } of models.calls) {
    reached.add(`model ${mode}`)
    if (isSet) reached.add('scope set')
  }
  for (const name of servers.reached) reached.add(`server ${name}`)
  for (const { value } of history.values('decisions', 'decision')) reached.add(`fate ${value.fate}`)
  for (const { value } of history.values('verdicts', 'verdict')) {
    reached.add(`verdict ${value.outcome}${value.cached ? ' cached' : ''}`)
    const { failure } = value.body as { failure?: string }
    if (failure) reached.add(`failure ${failure}`)
    if (failure === 'model-unavailable') reached.add('breaker opened')
    if (value.model !== settings.names[0]) reached.add('fallback used')
  }
  for (const { value } of history.values('notices', 'notice')) reached.add(`notice ${value.kind}`)
  return [...reached]
}

const FATES = ['delivered', 'rejected', 'evaluation-failed', 'inactive', 'over-budget', 'duplicate']
const VERDICTS = ['matched', 'not-matched', 'ask', 'failed', 'matched cached', 'not-matched cached']
const NOTICES = ['evaluation', 'ask', 'observation-failed', 'observation-recovered']
const ACTS = ['restart', 'away', 'cursor-gone', 'tool-changed']

/** Everything that a run of many seeds should reach. */
export function meaningWanted(): string[] {
  return [
    ...[...wantedOf(MEANING_FAULTS), 'scope set', 'breaker opened', 'fallback used'],
    ...['honest', ...Object.keys(MODEL_MODES)].map(mode => `model ${mode}`),
    ...[...ACTS, ...Object.keys(MCP_MODES)].map(mode => `server ${mode}`),
    ...[...FATES, 'cooldown'].map(fate => `fate ${fate}`),
    ...VERDICTS.map(outcome => `verdict ${outcome}`),
    ...[...NOTICES, 'connector-changed'].map(kind => `notice ${kind}`),
  ]
}

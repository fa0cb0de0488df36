/** Conditions with a meaning and what they are observed with, as `--world meaning` plays them. */
import { judged } from '../seed-result.ts'
import type { SeedResult, SimWorld } from '../sim-world.ts'
import { checkMeaning } from './check-meaning.ts'
import { MEANING_BUGS } from './meaning-bugs.ts'
import { meaningCoverage, meaningWanted } from './meaning-coverage.ts'
import { type MeaningOptions, playMeaning } from './play-meaning.ts'

/** Plays a seed and looks at all of it. */
async function runMeaning(options: MeaningOptions): Promise<SeedResult> {
  const run = await playMeaning(options)
  return judged(run.world, options.seed, await checkMeaning(run), meaningCoverage(run))
}

export const MEANING: SimWorld = {
  name: 'meaning',
  meaning: 'conditions judged by a model, and MCP servers polled, while both misbehave (I8, I15)',
  bugs: MEANING_BUGS,
  wanted: meaningWanted,
  run: ({ bug, ...order }) =>
    runMeaning({ ...order, bug: MEANING_BUGS.find(({ name }) => name === bug) }),
}

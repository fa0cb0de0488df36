import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** One delivery that GitHub's users published: the event's name and its body. */
export interface GithubSample {
  name: string
  payload: object
}

/** Sample payloads of every GitHub event, from `@octokit/webhooks-examples`. */
export function githubSamples(): GithubSample[] {
  const file = createRequire(import.meta.url).resolve('@octokit/webhooks-examples')
  const events = JSON.parse(readFileSync(file, 'utf8')) as { name: string; examples: object[] }[]
  const samples = events.flatMap(({ name, examples }) =>
    examples.map(payload => ({ name, payload })),
  )
  if (samples.length < 100) throw new Error(`expected the published samples, got ${samples.length}`)
  return samples
}

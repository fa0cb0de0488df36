/**
 * Writes docs/flow.md from the graph: `node topologies/diagram.ts`; `--check` fails when the page
 * is not what the graph says.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { STEPS, type StepRow } from './proactivity.ts'
import { EXT_INGRESS, TOPICS, type TopicRow } from './topics.ts'

const idOf = (name: string) => name.replaceAll(/[^a-z]/g, '_')
const DAY_MS = 86_400_000

/** The page as Markdown: a diagram, and tables of topics and steps. */
export function flowPage(): string {
  return [
    '# Flow',
    '',
    'Generated from `topologies/` by `node topologies/diagram.ts`. Do not edit.',
    '',
    '```mermaid',
    ...diagram(),
    '```',
    '',
    '## Topics',
    '',
    '| topic | key | record | cleanup |',
    '|---|---|---|---|',
    topicLine('ingress.ext.<tenant>', EXT_INGRESS),
    ...Object.entries(TOPICS).map(([name, row]) => topicLine(name, row)),
    '',
    '## Steps',
    '',
    '| step | service | reads | tables | writes |',
    '|---|---|---|---|---|',
    ...Object.entries(STEPS).map(([name, row]) => stepLine(name, row)),
    '',
  ].join('\n')
}

function diagram(): string[] {
  const lines = [
    'flowchart LR',
    '  producers([producers]) --> step_ingest',
    '  executors([executors])',
  ]
  for (const [name, row] of Object.entries(STEPS) as [string, StepRow][]) {
    lines.push(`  step_${idOf(name)}["${name}<br/><i>${row.service}</i>"]`)
    for (const topic of row.reads) lines.push(`  ${idOf(topic)}[(${topic})] --> step_${idOf(name)}`)
    for (const topic of row.writes) {
      if (topic !== 'deadletter') lines.push(`  step_${idOf(name)} --> ${idOf(topic)}[(${topic})]`)
    }
  }
  lines.push('  producers --> ingress_ext__tenant_', '  step_mailbox_dispatcher --> executors')
  return [...new Set(lines)]
}

function topicLine(name: string, row: TopicRow): string {
  const days =
    row.retentionMs < 0 ? 'kept' : `${Math.round((row.retentionMs / DAY_MS) * 24) / 24} d`
  const kept = row.retentionMs === 3_600_000 ? '1 h' : days
  const cleanup = row.cleanup === 'compact' ? 'compact' : kept
  return `| \`${name}\` | ${row.key} | ${row.record} | ${cleanup} |`
}

function stepLine(name: string, row: StepRow): string {
  const list = (topics: readonly string[]) => topics.map(topic => `\`${topic}\``).join(' ') || '–'
  const lists = [row.reads, row.tables, row.writes].map(list)
  return `| ${[name, row.service, ...lists].join(' | ')} |`
}

if (import.meta.main) {
  const target = join(import.meta.dirname, '../docs/flow.md')
  if (!process.argv.includes('--check')) writeFileSync(target, flowPage())
  else if (readFileSync(target, 'utf8') !== flowPage()) {
    console.error('docs/flow.md is stale: run `node topologies/diagram.ts`')
    process.exit(1)
  }
}

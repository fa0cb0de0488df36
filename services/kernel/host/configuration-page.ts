/**
 * Writes docs/configuration.md from the settings when it is run; `--check` fails when the page is
 * not what they say.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { SETTINGS } from './configuration.ts'

/** The page as Markdown. */
export function configurationPage(): string {
  const rows = Object.entries(SETTINGS).map(([name, setting]) => {
    const schema = z.toJSONSchema(setting, { io: 'input', unrepresentable: 'any' })
    const fallback = schema.default === undefined ? '–' : `\`${JSON.stringify(schema.default)}\``
    return `| \`${name}\` | ${fallback} | ${setting.description} |`
  })
  return [
    '# Configuration',
    '',
    'Generated from `services/kernel/host/configuration.ts`. Do not edit.',
    '',
    'Every process reads these variables once, at its start. Unknown `AMBIT_` names and settings',
    'that contradict each other stop it with one clear line.',
    '',
    '| variable | default | meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

if (import.meta.main) {
  const target = join(import.meta.dirname, '../../../docs/configuration.md')
  if (!process.argv.includes('--check')) writeFileSync(target, configurationPage())
  else if (readFileSync(target, 'utf8') !== configurationPage()) {
    console.error('docs/configuration.md is stale: run the file that generates it')
    process.exit(1)
  }
}

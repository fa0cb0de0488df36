/** The demo's folder of tickets: observed through an MCP server, filled by the story. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Name of the connector, and of the command it may start. */
export const DEMO_TICKETS = 'tickets'

/** Tickets of the story that are kept. */
const TICKETS_MAX = 20

const TEXTS = [
  'The cup arrived broken.\nI would like my money back, please.',
  'Where is my parcel?\nIt was announced for Monday.',
  'Wrong size\nCan I exchange the shirt for a larger one?',
]

/** Where the tickets of a data folder lie; anybody may put a file there. */
export function ticketFolder(dataDir: string): string {
  return resolve(dataDir, 'tickets')
}

/**
 * Lets connectors start the ticket server, beside what the configuration allows. The folder is made
 * here; the setting is the same one that an operator would write.
 */
export function allowTicketServer(environment: Record<string, string | undefined>): void {
  const folder = ticketFolder(environment.AMBIT_DATA_DIR ?? '.ambit')
  mkdirSync(folder, { recursive: true })
  const program = fileURLToPath(new URL('./ticket-server.ts', import.meta.url))
  const given = environment.AMBIT_MCP_COMMANDS || '{}'
  try {
    const commands = { [DEMO_TICKETS]: [process.execPath, program, folder], ...JSON.parse(given) }
    environment.AMBIT_MCP_COMMANDS = JSON.stringify(commands)
  } catch {
    // Not JSON: reading the configuration says so.
  }
}

/** Adds the ticket of a round, and removes the oldest of the story. */
export function writeTicket(folder: string, run: string, round: number): void {
  const text = TEXTS[(round - 1) % TEXTS.length] ?? ''
  writeFileSync(join(folder, `story-${run}.txt`), `${text}\n`)
  const own = readdirSync(folder).filter(name => name.startsWith('story-'))
  for (const name of own.sort().slice(0, -TICKETS_MAX)) rmSync(join(folder, name))
}

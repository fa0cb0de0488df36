/**
 * An MCP server over a folder of tickets, on stdin and stdout: what the demo observes, and a small
 * model of a read-only server.
 *
 *     node services/embedded/demo/ticket-server.ts FOLDER
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const [folder] = process.argv.slice(2)
if (!folder) {
  process.stderr.write('Expected the folder of the tickets, got nothing.\n')
  process.exit(1)
}

/** Tickets listed at most, newest first, and characters of each. */
const TICKETS_MAX = 100
const TEXT_MAX = 4000

const ticket = z.object({
  id: z.string(),
  title: z.string(),
  text: z.string(),
  changedAt: z.string(),
})

/** Every text file is a ticket: its name is the id, its first line the title. */
async function listTickets(from: string): Promise<z.infer<typeof ticket>[]> {
  const names = (await readdir(from)).filter(name => /^[^.].*\.(?:txt|md)$/.test(name))
  const tickets = await Promise.all(names.map(name => readTicket(from, name)))
  return tickets.sort((a, b) => (a.changedAt < b.changedAt ? 1 : -1)).slice(0, TICKETS_MAX)
}

async function readTicket(from: string, name: string) {
  const path = join(from, name)
  const [text, { mtime }] = await Promise.all([readFile(path, 'utf8'), stat(path)])
  const title = text.split('\n', 1)[0]?.trim() ?? ''
  return { id: name, title, text: text.slice(0, TEXT_MAX), changedAt: mtime.toISOString() }
}

serveStdio(() => {
  const server = new McpServer({ name: 'tickets', version: '1.0.0' })
  server.registerTool(
    'list_tickets',
    {
      description: 'The tickets of the folder, newest first.',
      inputSchema: z.object({}),
      outputSchema: z.object({ items: z.array(ticket) }),
      annotations: { readOnlyHint: true },
    },
    async () => {
      const structuredContent = { items: await listTickets(folder) }
      return {
        content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
        structuredContent,
      }
    },
  )
  return server
})

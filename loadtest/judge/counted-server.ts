/**
 * An MCP server with queues of items on stdin and stdout, which writes a line for every call of its
 * tool: node counted-server.ts FILE.
 */
import { appendFileSync } from 'node:fs'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const [file = ''] = process.argv.slice(2)
const item = z.object({ id: z.string(), text: z.string() })

serveStdio(() => {
  const server = new McpServer({ name: 'queues', version: '1.0.0' })
  server.registerTool(
    'list_items',
    {
      description: 'The items of a queue.',
      inputSchema: z.object({ queue: z.int() }),
      outputSchema: z.object({ items: z.array(item) }),
      annotations: { readOnlyHint: true },
    },
    async ({ queue }) => {
      appendFileSync(file, `${queue} ${Date.now()}\n`)
      const structuredContent = { items: [{ id: `first-of-${queue}`, text: 'Nothing is new.' }] }
      return {
        content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
        structuredContent,
      }
    },
  )
  return server
})

/**
 * The embedded product whose agent has tools of its own: `pay` (write), `refund` (sensitive) and
 * `look` (read). The first two post to `TEST_TILL_URL` with their idempotency key.
 */
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { openChatModel } from '#kernel/host/open-chat-model.ts'
import { runProcess } from '#kernel/host/run-process.ts'
import { startAgent } from '#services/agent/service.ts'
import type { Tool } from '#services/agent/tools/tool.ts'
import { startAllServices } from '#services/embedded/all-services.ts'

const { values } = parseArgs({
  options: {
    empty: { type: 'boolean' },
    port: { type: 'string' },
    data: { type: 'string' },
  },
})
process.env.AMBIT_PORT = values.port
process.env.AMBIT_DATA_DIR = values.data
process.env.AGENT_ENABLED = 'false'

const schema = z.strictObject({ order: z.string().regex(/^o-\d+$/) })

function till(name: string, effect: Tool['effect']): Tool {
  return {
    ...{ name, description: `Does ${name}.`, effect, schema },
    parameters: { ...z.toJSONSchema(schema) },
    async run(args, { idempotencyKey, signal }) {
      if (effect === 'read') return 'There is nothing.'
      const answer = await fetch(`${process.env.TEST_TILL_URL}/${name}`, {
        ...{ method: 'POST', body: JSON.stringify(args), signal },
        headers: { 'idempotency-key': idempotencyKey, 'content-type': 'application/json' },
      })
      return `The till answered ${answer.status}.`
    },
  }
}

const tools = [till('pay', 'write'), till('refund', 'sensitive'), till('look', 'read')]
const { env: environment } = process
await runProcess('embedded', async parts => [
  ...(await startAllServices(parts)),
  ...(await startAgent(parts.app, parts.platform, {
    ...{ environment, openModel: openChatModel, tools },
  })),
])

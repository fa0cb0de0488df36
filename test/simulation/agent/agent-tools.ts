/** Tools of the simulated installation, one of each kind, beside those that ship. */
import { z } from 'zod'
import type { Tool, ToolContext } from '#services/agent/tools/tool.ts'
import { type AgentSeat, timeLimit } from './agent-sim.ts'
import { outsideFetch } from './outside.ts'

const schema = z.strictObject({ to: z.string().min(1) })
const parameters = { ...z.toJSONSchema(schema) }

export function agentTools(seat: AgentSeat): Tool[] {
  const send = outsideFetch(seat)
  const limit = timeLimit(seat)
  const call = async (name: string, args: object, context: ToolContext) => {
    const response = await send('http://outside/', {
      method: 'POST',
      headers: { 'idempotency-key': context.idempotencyKey },
      body: JSON.stringify({ tool: name, ...args }),
      signal: AbortSignal.any([context.signal, limit(2500)]),
    })
    if (response.status !== 200) throw new Error(`the service answered ${response.status}`)
    return 'done'
  }
  const tool = (name: string, more: Partial<Tool>): Tool => ({
    ...{ name, description: `Does ${name}.`, schema, parameters, effect: 'write' },
    timeoutMs: 5000,
    target: ({ to }) => String(to),
    run: (args, context) => call(name, args, context),
    ...more,
  })
  return [
    tool('look', { effect: 'read', run: async () => 'what strangers wrote' }),
    tool('leave_note', {}),
    tool('pay', { effect: 'sensitive' }),
    tool('send_mail', { egress: true }),
    tool('forbidden', {}),
  ]
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ChatItem } from '#kernel/ports/chat-model.ts'
import { createMockChat } from './mock-chat.ts'

const tools = ['provision_access_async', 'create_ticket_async', 'list_operations'].map(name => ({
  name,
  description: '',
  parameters: {},
}))

async function ask(...items: ChatItem[]) {
  const request = { instructions: 'Answer in Spanish.', items, tools, outputTokensMax: 100 }
  return createMockChat().complete(request, new AbortController().signal)
}
const user = (text: string): ChatItem => ({ role: 'user', text })
const access = (user_email: string, application: string, role: string) => ({
  ...{ user_email, application, role },
})

describe('the mock model', () => {
  const five = ['Notion', 'GitHub', 'Jira', 'Figma', 'Slack']
  const asked: [string, unknown][] = [
    [
      'Dale acceso a ana@example.com a Notion con rol editor',
      [access('ana@example.com', 'Notion', 'editor')],
    ],
    [
      'Dale acceso a bruno@example.com a GitHub con rol admin',
      [access('bruno@example.com', 'GitHub', 'admin')],
    ],
    [
      'Dame acceso a soporte@example.com con rol admin en Notion, GitHub, Jira, Figma y Slack',
      five.map(name => access('soporte@example.com', name, 'admin')),
    ],
    [
      'Give ana@example.com access to Notion with the role editor',
      [access('ana@example.com', 'Notion', 'editor')],
    ],
    [
      'Give support@example.com admin access to Notion, GitHub, Jira, Figma and Slack',
      five.map(name => access('support@example.com', name, 'admin')),
    ],
    [
      'Dale acceso a ana@example.com a Notion',
      [{ user_email: 'ana@example.com', application: 'Notion' }],
    ],
  ]
  for (const [sentence, accesses] of asked) {
    it(`asks for the accesses of "${sentence}"`, async () => {
      const { toolCalls } = await ask(user(sentence))
      assert.deepEqual(
        toolCalls.map(call => [call.name, JSON.parse(call.arguments)]),
        [['provision_access_async', { accesses }]],
      )
    })
  }

  it('asks for a ticket with what was said about it', async () => {
    const { toolCalls } = await ask(user("Crea un ticket 'VPN caída' con prioridad alta"))
    assert.deepEqual(JSON.parse(toolCalls[0]?.arguments ?? ''), {
      title: 'VPN caída',
      priority: 'alta',
    })
  })

  it('explains a webhook in the language of the question', async () => {
    assert.match((await ask(user('Que es un webhook?'))).text, /^Un webhook es/)
    assert.match((await ask(user('What is a webhook?'))).text, /^A webhook is/)
  })

  it('looks at the operations and says how they stand', async () => {
    for (const sentence of ['Como van las operaciones?', 'How are the operations going?']) {
      const { toolCalls } = await ask(user(sentence))
      assert.equal(toolCalls[0]?.name, 'list_operations')
      const operations = [{ target: 'Notion', state: 'running' }]
      const result = { role: 'tool', callId: 'c', text: JSON.stringify({ operations }) } as const
      const call: ChatItem = { role: 'assistant', text: '', toolCalls }
      assert.match((await ask(user(sentence), call, result)).text, /Notion: running/)
    }
  })

  it('weaves in what ended meanwhile, and tells what failed', async () => {
    const news = user('<operations-ended>\n- it works.\n</operations-ended>')
    const { text } = await ask(news, user('Que es un webhook?'))
    assert.match(text, /Un webhook es[\s\S]*it works\./)
    const failed = user('<operations-failed>\n- no he podido activar Jira.\n</operations-failed>')
    assert.match((await ask(failed)).text, /no he podido activar Jira[\s\S]*Dime si/)
  })
})

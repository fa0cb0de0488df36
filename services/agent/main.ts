/** The agent as a process of its own; `AGENT_API_URL` and `AGENT_API_KEY` lead to the API. */
import { openChatModel } from '#kernel/host/open-chat-model.ts'
import { runProcess } from '#kernel/host/run-process.ts'
import { startAgent } from './service.ts'

await runProcess('agent', ({ platform, app }) =>
  startAgent(app, platform, { environment: process.env, openModel: openChatModel }),
)

/** The smallest example of a tool whose work goes on in the background. */
import { defineAsyncHttpTool } from './define-async-http-tool.ts'

/** Creates tickets; `url` takes the POST. */
export function createTicket(url: string) {
  return defineAsyncHttpTool({
    name: 'create_ticket_async',
    description: 'Creates a ticket for the IT team, in the background.',
    schema: {
      type: 'object',
      properties: {
        title: { type: 'string', minLength: 1 },
        priority: { type: 'string', minLength: 1 },
      },
      required: ['title', 'priority'],
      additionalProperties: false,
    },
    retry: { maxAttempts: 2, backoffMs: 500 },
    target: ({ title, priority }) => `${title} (${priority})`,
    messages: {
      accepted: ({ title, priority }, language) =>
        language === 'es'
          ? `Creo el ticket '${title}' con prioridad '${priority}'. Te aviso al cerrar.`
          : `I am creating the ticket '${title}' with priority '${priority}'. ` +
            'I will tell you when it is done.',
      succeeded: ({ title }, language) =>
        language === 'es'
          ? `el ticket '${title}' ya está creado.`
          : `the ticket '${title}' is created.`,
      failed: ({ title }, { text }, language) =>
        language === 'es'
          ? `no he podido crear el ticket '${title}': ${text}.`
          : `I could not create the ticket '${title}': ${text}.`,
      invalid: (_missing, language) =>
        language === 'es'
          ? 'Para crear el ticket necesito el título y la prioridad.'
          : 'To create the ticket I need its title and priority.',
    },
    request: item => ({ method: 'POST', url, json: item, timeoutMs: 3000 }),
  })
}

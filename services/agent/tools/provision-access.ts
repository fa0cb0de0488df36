/** Example of a batch: several accesses in one call, one request each, one closing. */
import { defineAsyncHttpTool } from './define-async-http-tool.ts'

const ACCESS = {
  type: 'object',
  properties: {
    user_email: { type: 'string', minLength: 3 },
    application: { type: 'string', minLength: 1 },
    role: { type: 'string', minLength: 1 },
  },
  required: ['user_email', 'application', 'role'],
  additionalProperties: false,
}

const FIELDS = {
  en: { user_email: 'the e-mail', application: 'the application', role: 'the role' },
  es: { user_email: 'el correo', application: 'la aplicación', role: 'el rol' },
} as const

/** Gives people access to applications; `url` takes one POST per access. */
export function provisionAccess(url: string) {
  return defineAsyncHttpTool({
    name: 'provision_access_async',
    description:
      'Gives people access to applications of the company, in the background. Put all accesses ' +
      'of one request into one call.',
    schema: {
      type: 'object',
      properties: { accesses: { type: 'array', minItems: 1, maxItems: 50, items: ACCESS } },
      required: ['accesses'],
      additionalProperties: false,
    },
    batchField: 'accesses',
    retry: { maxAttempts: 3, backoffMs: 500 },
    target: item => `${item.user_email} · ${item.application} (${item.role})`,
    messages: {
      accepted: ({ accesses }, language) => acceptance(accesses as Access[], language),
      succeeded: ({ user_email, application, role }, language) =>
        language === 'es'
          ? `el acceso de ${user_email} a ${application} con rol '${role}' ya está activo.`
          : `the access of ${user_email} to ${application} with the role '${role}' is active.`,
      failed: ({ user_email, application }, { text }, language) =>
        language === 'es'
          ? `no he podido activar el acceso de ${user_email} a ${application}: ${text}.`
          : `I could not activate the access of ${user_email} to ${application}: ${text}.`,
      invalid: (missing, language) => {
        const names: Record<string, string> = FIELDS[language]
        const fields = missing.map(field => names[field] ?? field).join(', ')
        return language === 'es'
          ? `Para dar el acceso necesito ${fields}.`
          : `To give the access I need ${fields}.`
      },
    },
    // One access without a list around it is an older shape.
    normalise: args => ('user_email' in args ? { accesses: [args] } : args),
    request: item => ({ method: 'POST', url, json: item, timeoutMs: 10_000 }),
  })
}

type Access = Record<'user_email' | 'application' | 'role', string>

function acceptance(accesses: Access[], language: 'en' | 'es'): string {
  const [only] = accesses
  if (accesses.length === 1 && only) {
    const { user_email, application, role } = only
    return language === 'es'
      ? `Activo el acceso de ${user_email} a ${application} con rol '${role}'. Te aviso al cerrar.`
      : `I am activating the access of ${user_email} to ${application} with the role '${role}'. ` +
          'I will tell you when it is done.'
  }
  return language === 'es'
    ? `Activo ${accesses.length} accesos. Te aviso al cerrar.`
    : `I am activating ${accesses.length} accesses. I will tell you when they are done.`
}

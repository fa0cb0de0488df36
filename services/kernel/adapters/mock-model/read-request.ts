/** Reads the requests that the mock model knows out of a sentence. */

export interface AccessRequest {
  user_email: string
  application: string
  role: string
}

const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g
const APPLICATIONS = ['Notion', 'GitHub', 'Jira', 'Figma', 'Slack', 'Confluence', 'GitLab']
/** Words that begin a sentence with a capital letter and name no application. */
const NO_APPLICATION = /^(Dale|Dame|Da|Quiero|Necesito|Give|Grant|Please|I|Por|Can|Could)$/
const ROLE = [
  /\b(?:rol|role)(?:\s+(?:de|of))?\s+["']?([\p{L}-]+)/iu,
  /\b([\p{L}-]+)\s+(?:role|access)\b/iu,
]
const NO_ROLE = /^(the|an|a|give|get|want|me|dar|con|with)$/i

/** One access per e-mail and application, or undefined when the sentence asks for none. */
export function accessRequestIn(sentence: string): AccessRequest[] | undefined {
  if (!/\b(acceso|accesos|access)\b/i.test(sentence)) return undefined
  const emails = sentence.match(EMAIL) ?? ['']
  const rest = sentence.replaceAll(EMAIL, ' ')
  const role = roleIn(rest)
  const applications = applicationsIn(rest)
  return emails.flatMap(user_email =>
    applications.map(application => ({ user_email, application, role })),
  )
}

function roleIn(text: string): string {
  for (const pattern of ROLE) {
    const found = pattern.exec(text)?.[1]
    if (found && !NO_ROLE.test(found)) return found.toLowerCase()
  }
  return ''
}

function applicationsIn(text: string): string[] {
  const named = APPLICATIONS.filter(name => new RegExp(`\\b${name}\\b`, 'i').test(text))
  const capital = (text.match(/\b\p{Lu}[\w.+-]*/gu) ?? []).filter(
    word => !NO_APPLICATION.test(word),
  )
  const others = capital.filter(word => !named.some(n => n.toLowerCase() === word.toLowerCase()))
  const found = [...named, ...others]
  return found.length > 0 ? found : ['']
}

/** `{title, priority}`; a member that was not said is missing. */
export function ticketRequestIn(
  sentence: string,
): { title?: string; priority?: string } | undefined {
  if (!/\b(ticket|tique|incidencia)\b/i.test(sentence)) return undefined
  const title = /["'“«]([^"'”»]+)["'”»]/.exec(sentence)?.[1]
  const priority = /\b(?:prioridad|priority)\s+([\p{L}]+)/iu.exec(sentence)?.[1]
  const before = /\b([\p{L}]+)[\s-]+priority\b/iu.exec(sentence)?.[1]
  const level = priority ?? before
  return { ...(title ? { title } : {}), ...(level ? { priority: level.toLowerCase() } : {}) }
}

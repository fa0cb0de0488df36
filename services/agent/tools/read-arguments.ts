/** Arguments as a model writes them: text that may be anything. */
import type { Language, Tool } from './tool.ts'

/** Longest text of arguments, in characters. */
const ARGUMENTS_MAX = 100_000

/** The parsed arguments of a call, or why they are none. */
export function readArguments(
  tool: Tool,
  text: string,
  language: Language,
): { args: Record<string, unknown> } | { refused: string } {
  const given = text.length > ARGUMENTS_MAX ? undefined : jsonObject(text)
  if (!given) return { refused: `the arguments of ${tool.name} must be one JSON object` }
  const parsed = tool.schema.safeParse(normalised(tool, given))
  if (parsed.success) return { args: parsed.data }
  const problems = parsed.error.issues.slice(0, 5)
  const paths = problems.map(({ path }) => path.map(String).join('.') || 'arguments')
  if (tool.invalid) return { refused: tool.invalid(paths, language) }
  const said = problems.map(({ message }, at) => `${paths[at]}: ${message}`).join('; ')
  return { refused: `the arguments of ${tool.name} do not fit its schema: ${said}` }
}

/** An older shape that cannot be read stays as it is; the schema then says what is wrong. */
function normalised(tool: Tool, args: Record<string, unknown>): unknown {
  try {
    return tool.normalise?.(args) ?? args
  } catch {
    return args
  }
}

function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? { ...value } : undefined
  } catch {
    return undefined
  }
}

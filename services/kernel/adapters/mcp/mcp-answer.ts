/** The one value that a tool's or a resource's answer holds. */
import { McpFailure } from '#kernel/ports/mcp-client.ts'

interface Content {
  type?: string
  text?: unknown
}

/** Structured content, else the text as JSON, else the text. */
export function answerOfTool(result: {
  structuredContent?: unknown
  content?: unknown
  isError?: boolean
}): unknown {
  if (result.isError) throw new McpFailure('operation-failed')
  const { structuredContent, content } = result
  if (structuredContent !== undefined && structuredContent !== null) return structuredContent
  return jsonOrText(textsOf(content))
}

export function answerOfResource(result: { contents?: unknown }): unknown {
  return jsonOrText(textsOf(result.contents))
}

function textsOf(parts: unknown): string[] {
  if (!Array.isArray(parts)) throw new McpFailure('bad-answer')
  return parts.flatMap((part: Content) => (typeof part?.text === 'string' ? [part.text] : []))
}

function jsonOrText(texts: string[]): unknown {
  if (texts.length === 0) throw new McpFailure('bad-answer')
  const text = texts.join('\n')
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

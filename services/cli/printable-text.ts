/**
 * Control characters and direction overrides of other people's text could move the cursor, hide
 * lines or send keys. They are shown as `\uXXXX`, which JSON reads back as the same character.
 */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** The text with everything harmless to a terminal; line feeds and tabs stay. */
export function printableText(text: string): string {
  return text.replace(
    UNPRINTABLE,
    found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

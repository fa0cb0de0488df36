/**
 * The outer form of an iCalendar file (RFC 5545 3.1, 3.4): octets become unfolded lines, lines
 * become nested components. Nothing is understood yet; whatever is odd inside one component stays
 * inside it.
 */

/** A component with its own lines, nested ones apart. Names are in upper case. */
export interface IcsBlock {
  name: string
  lines: string[]
  children: IcsBlock[]
  /** False when another component ended, or began, before it did. */
  isClosed: boolean
}

export interface IcsBlocks {
  calendars: IcsBlock[]
  /** True when the file ends inside a calendar: it was cut off. */
  isCut: boolean
}

/** Nested deeper than anything in RFC 5545 is (calendar, event, alarm). */
const DEPTH_MAX = 8

const CR = 13
const LF = 10
const SPACE = 32
const TAB = 9

/**
 * Unfolds on octets, before they are read as UTF-8: a fold may lie inside a character. Lines end
 * with CRLF, LF or CR; a byte order mark is dropped; octets that are not UTF-8 become U+FFFD.
 */
export function unfoldLines(bytes: Uint8Array): string[] {
  const kept = new Uint8Array(bytes.length)
  let size = 0
  let at = 0
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0
    if (byte !== CR && byte !== LF) {
      kept[size++] = byte
      at++
      continue
    }
    const end = lineEnd(bytes, at)
    const next = bytes[end]
    const isFold = next === SPACE || next === TAB
    if (!isFold) kept[size++] = LF
    at = isFold ? end + 1 : end
  }
  // TextDecoder drops a byte order mark by itself.
  return new TextDecoder().decode(kept.subarray(0, size)).split('\n')
}

/** Where the line after this break begins; `\r\r\n` is one break, as some programs write it. */
function lineEnd(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at] === CR) at++
  return bytes[at] === LF ? at + 1 : from + 1
}

/** Nests lines by BEGIN and END. */
export function parseBlocks(lines: readonly string[]): IcsBlocks {
  const calendars: IcsBlock[] = []
  const open: IcsBlock[] = []
  for (const line of lines) {
    const mark = /^(BEGIN|END)[ \t]*:[ \t]*([A-Za-z0-9-]+)[ \t]*$/i.exec(line)
    if (!mark) {
      if (line !== '') open.at(-1)?.lines.push(line)
    } else if (mark[1]?.toUpperCase() === 'BEGIN') {
      begin(open, calendars, (mark[2] ?? '').toUpperCase())
    } else {
      end(open, (mark[2] ?? '').toUpperCase())
    }
  }
  return { calendars, isCut: open.length > 0 }
}

function begin(open: IcsBlock[], calendars: IcsBlock[], name: string): void {
  // Events do not nest: the one before was never closed.
  const same = name === 'VEVENT' ? open.findIndex(block => block.name === name) : -1
  if (same !== -1) open.length = same
  const block: IcsBlock = { name, lines: [], children: [], isClosed: false }
  const parent = open.at(-1)
  if (open.length >= DEPTH_MAX) return
  if (parent) parent.children.push(block)
  else if (name === 'VCALENDAR') calendars.push(block)
  // Mails and clipboards carry single events without the calendar around them.
  else if (name === 'VEVENT' || name === 'VTIMEZONE') calendars.push(around(block))
  else return
  open.push(block)
}

const around = (block: IcsBlock): IcsBlock => ({
  ...{ name: 'VCALENDAR', lines: [], children: [block], isClosed: true },
})

function end(open: IcsBlock[], name: string): void {
  const at = open.findLastIndex(block => block.name === name)
  if (at === -1) return
  const block = open[at]
  if (block) block.isClosed = at === open.length - 1
  // What is still open inside ends here too, unclosed; the component around it is sound.
  if (block && name === 'VCALENDAR') block.isClosed = true
  open.length = at
}

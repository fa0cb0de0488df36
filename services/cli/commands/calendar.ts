/** `calendar …`: meetings that subscriptions can be tied to. */
import type { CalendarChange } from '#services/client/api.ts'
import type { Command, Output } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'
import { readInput } from '../read-input.ts'

/** Objects that `calendar get` shows of one calendar. */
const OBJECTS_SHOWN = 50

export const calendarPut: Command = {
  summary: 'Take a calendar in from an iCalendar file, or follow the feed at an address.',
  arguments: ['NAME', 'FILE|URL'],
  options: {
    every: { type: 'string', value: 'MS', help: 'Ms between two polls of a feed. Default 900000.' },
    zone: { type: 'string', value: 'ZONE', help: 'IANA zone of times that the file gives none.' },
  },
  notes: ['A file replaces what the calendar held. - reads standard input.'],
  async run({ args: [name = '', from = ''], flags, client, output, world }) {
    const zone = flags.text('zone')
    const everyMs = flags.count('every', 60_000)
    const feed = { url: from, ...(everyMs ? { everyMs } : {}), ...(zone ? { zone } : {}) }
    const { calendars } = client()
    const change = /^(?:https?|webcals?):/i.test(from)
      ? await calendars.follow(name, feed)
      : await calendars.upload(name, await readInput(world, from), zone)
    report(output, name, change)
    return EXIT.ok
  },
}

function report(output: Output, name: string, change: CalendarChange): void {
  if (output.isJson) {
    output.json(change)
    return
  }
  const { objects, changed, removed, skipped = [] } = change
  output.text(`calendar ${name}: ${objects} objects, ${changed} changed, ${removed} removed`)
  for (const { uid = 'an event without UID', reason } of skipped) {
    output.note(`${uid} was left out: ${reason}`)
  }
}

export const calendarGet: Command = {
  summary: 'List calendars, or show one with its objects.',
  arguments: ['[NAME]'],
  async run({ args: [name], client, output }) {
    const { calendars } = client()
    if (name === undefined) {
      const { items } = await calendars.list.page({})
      if (output.isJson) output.json({ items })
      else output.text(formatTable(CALENDAR_COLUMNS, items))
      return EXIT.ok
    }
    const calendar = await calendars.get(name)
    const { items, next } = await calendars.objects(name).page({ limit: OBJECTS_SHOWN })
    if (output.isJson) output.json({ ...calendar, items, next })
    else {
      output.text(formatTable(CALENDAR_COLUMNS, [calendar]))
      output.text(formatTable(OBJECT_COLUMNS, items))
      if (next) output.note(`There is more: the first ${OBJECTS_SHOWN} are shown.`)
    }
    return EXIT.ok
  },
}

const OBJECT_COLUMNS = [
  ['UID', 'uid'],
  ['START', 'start'],
  ['END', 'end'],
  ['ZONE', 'tzid'],
  ['RULE', 'rrule'],
  ['STATUS', 'status'],
  ['SUMMARY', 'summary'],
] as const

/** Columns of the list of calendars. */
export const CALENDAR_COLUMNS = [
  ['NAME', 'name'],
  ['KIND', 'kind'],
  ['OBJECTS', 'objects'],
  ['FROM', 'origin'],
  ['FETCHED', 'feed.lastOkAt'],
  ['ERROR', 'feed.lastError'],
] as const

export const calendarDelete: Command = {
  summary: 'Delete a calendar and its objects; what is tied to them is told.',
  arguments: ['NAME'],
  async run({ args: [name = ''], client, output }) {
    const change = await client().calendars.delete(name)
    if (output.isJson) output.json(change)
    else output.text(`calendar ${name} is deleted with ${change.removed} objects`)
    return EXIT.ok
  },
}

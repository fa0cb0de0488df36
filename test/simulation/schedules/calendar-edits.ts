/**
 * What people and other programs do to the calendars of a seed, often at the instant that somebody
 * is to be told of a meeting (F24).
 */
import type { Random } from '../random.ts'
import { type CalendarDesk, openDesks } from './calendar-desks.ts'
import { DRAFT_EDITS, type Draft, instanceAbout, newDraft } from './meeting-drafts.ts'
import { CALENDARS, UIDS } from './schedule-plan.ts'
import { DAY_MS, FAULTS_MS, note, type ScheduleState } from './schedule-state.ts'
import { anchoredIds, nextOf } from './subscription-edits.ts'

type Name = (typeof CALENDARS)[number]
type Desks = (random: Random) => CalendarDesk

interface Authors {
  state: ScheduleState
  random: Random
  desks: Desks
  /** What each calendar should hold, as its authors see it. */
  drafts: Record<Name, Map<string, Draft>>
}

const EDITS = 90
const POLL_EVERY_MS = 10 * 3_600_000
const CLEAR_EVERY_MS = 2 * DAY_MS
/** Changes of one meeting, those that move it most often. */
const WAYS = ['move', 'move', 'move', 'cancel', 'cancel', 'words', 'rule', 'stands', 'delete']

/** Fills both calendars, and plans their changes. */
export async function startCalendars(state: ScheduleState, random: Random): Promise<void> {
  const { clock } = state
  const drafts = { team: new Map<string, Draft>(), feed: new Map<string, Draft>() }
  const authors: Authors = { state, random, desks: await openDesks(state), drafts }
  for (const name of CALENDARS) {
    for (const uid of UIDS.slice(0, 5)) drafts[name].set(uid, newDraft(random, uid, clock.now()))
  }
  await authors.desks(random).upload([...drafts.team.values()])
  await authors.desks(random).poll([...drafts.feed.values()])
  for (let at = 0; at < FAULTS_MS; at += POLL_EVERY_MS) {
    clock.after(at + random.next() * POLL_EVERY_MS, () => poll(authors))
  }
  for (let at = CLEAR_EVERY_MS; at < FAULTS_MS; at += CLEAR_EVERY_MS) {
    clock.after(at, () => void authors.desks(random).clear())
  }
  for (let n = 0; n < EDITS; n++) {
    clock.after(random.next() * FAULTS_MS, () => {
      if (random.chance(0.6)) changeAtInstant(authors)
      else change(authors, random.pick(CALENDARS), random.pick(UIDS))
    })
  }
}

/** At the due instant itself, a moment before, and a moment after. */
function changeAtInstant(authors: Authors): void {
  const { state, random } = authors
  const { clock } = state
  const anchor = nextOf(state, random.pick(anchoredIds))
  if (!anchor?.anchor) return
  const { calendar, uid } = anchor.anchor
  const shift = random.pick([-1000, -20, -1, 0, 0, 1, 5, 300, 10_000])
  clock.after(Math.max(0, anchor.atMs - clock.now() + shift), () => {
    note(state, 'F24')
    change(authors, calendar as Name, uid)
    // Both replicas at once (F22): a second author, or the one who saw no answer.
    if (!random.chance(0.15)) return
    note(state, 'F22')
    change(authors, calendar as Name, uid)
  })
}

function change(authors: Authors, name: Name, uid: string): void {
  const { random, drafts } = authors
  if (random.chance(0.12)) {
    rework(authors, name)
    return
  }
  const draft = drafts[name].get(uid)
  const way = random.pick(WAYS)
  if (!draft) drafts[name].set(uid, newDraft(random, uid, authors.state.clock.now()))
  else if (way === 'delete') remove(authors, name, draft)
  else drafts[name].set(uid, edited(authors, draft, way))
  show(authors, name, uid)
}

/** Somebody who deletes a meeting may want it back, in moments or in days. */
function remove(authors: Authors, name: Name, draft: Draft): void {
  const { random, drafts, state } = authors
  drafts[name].delete(draft.uid)
  if (random.chance(0.5)) return
  state.clock.after(random.pick([1, 500, 60_000, 3 * DAY_MS]), () => {
    if (!drafts[name].has(draft.uid)) drafts[name].set(draft.uid, draft)
    show(authors, name, draft.uid)
  })
}

function edited({ random, state }: Authors, draft: Draft, way: string): Draft {
  const instance = draft.rrule ? instanceAbout(draft, state.clock.now(), random) : null
  const next = DRAFT_EDITS[way]?.(draft, { random, instance }) ?? draft
  return { ...next, sequence: draft.sequence + 1 }
}

/** The whole calendar anew: some gone, some moved, most as they were. */
function rework(authors: Authors, name: Name): void {
  const { random, drafts, state } = authors
  const own = drafts[name]
  for (const [uid, draft] of [...own]) {
    if (random.chance(0.15)) own.delete(uid)
    else if (random.chance(0.2)) own.set(uid, edited(authors, draft, 'move'))
  }
  const uid = random.pick(UIDS)
  if (!own.has(uid)) own.set(uid, newDraft(random, uid, state.clock.now()))
  state.reached.add('calendar replaced')
  if (name === 'feed') poll(authors)
  else void authors.desks(random).upload([...own.values()])
}

/** Makes a change known where calendars are read. */
function show(authors: Authors, name: Name, uid: string): void {
  const { random, desks, drafts } = authors
  const draft = drafts.team.get(uid)
  if (name === 'feed') poll(authors)
  else if (draft) void desks(random).put(draft)
  else void desks(random).remove(uid)
}

function poll({ desks, random, drafts }: Authors): void {
  void desks(random).poll([...drafts.feed.values()])
}

import type { Frequency } from './parse-rrule.ts'

/** The words in which a rule is described, for one language. */
export interface RuleWords {
  weekdays: readonly string[]
  months: readonly string[]
  and: string
  every: Readonly<Record<Frequency, (interval: number) => string>>
  weekdaysOfWork: string
  onWeekdays(list: string): string
  /** One entry of BYDAY with an ordinal; -1 is the last. */
  ordinalWeekday(ordinal: number, weekday: string): string
  onOrdinalWeekdays(list: string): string
  ofTheYear: string
  /** With the months when there are some. */
  onMonthDays(list: string, months: string): string
  lastDay: string
  dayFromEnd(position: number): string
  inMonths(list: string): string
  onYearDays(list: string): string
  inWeeks(list: string): string
  onlyPositions(list: string): string
  position(position: number): string
  at(list: string): string
  duringHours(list: string): string
  atMinutes(list: string): string
  atSeconds(list: string): string
  once(date: string, time: string): string
  date(day: number, month: string, year: number): string
  times(count: number): string
  until(date: string, time: string): string
  added(count: number): string
  excepted(count: number): string
  inZone(zone: string): string
}

const englishEvery = (unit: string) => (interval: number) =>
  interval === 1 ? `every ${unit}` : `every ${interval} ${unit}s`

const english: RuleWords = {
  weekdays: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'],
  months: [
    'January',
    'February',
    'March',
    'April',
    'May',
    'June',
    'July',
    'August',
    'September',
    'October',
    'November',
    'December',
  ],
  and: 'and',
  every: {
    YEARLY: englishEvery('year'),
    MONTHLY: englishEvery('month'),
    WEEKLY: englishEvery('week'),
    DAILY: englishEvery('day'),
    HOURLY: englishEvery('hour'),
    MINUTELY: englishEvery('minute'),
    SECONDLY: englishEvery('second'),
  },
  weekdaysOfWork: 'from Monday to Friday',
  onWeekdays: list => `on ${list}`,
  ordinalWeekday: (ordinal, weekday) => `the ${englishPosition(ordinal)} ${weekday}`,
  onOrdinalWeekdays: list => `on ${list}`,
  ofTheYear: 'of the year',
  onMonthDays: (list, months) => `on day ${list} of ${months || 'the month'}`,
  lastDay: 'the last',
  dayFromEnd: position => `the ${englishPosition(-position)} from the end`,
  inMonths: list => `in ${list}`,
  onYearDays: list => `on day ${list} of the year`,
  inWeeks: list => `in week ${list} of the year`,
  onlyPositions: list => `, only ${list} of these`,
  position: position => `the ${englishPosition(position)}`,
  at: list => `at ${list}`,
  duringHours: list => `in the hours ${list}`,
  atMinutes: list => `at minute ${list}`,
  atSeconds: list => `at second ${list}`,
  once: (date, time) => `once, on ${date} at ${time}`,
  date: (day, month, year) => `${day} ${month} ${year}`,
  times: count => (count === 1 ? 'once' : `${count} times`),
  until: (date, time) => `until ${date} at ${time}`,
  added: count => `and on ${count} added ${count === 1 ? 'date' : 'dates'}`,
  excepted: count => `except on ${count} ${count === 1 ? 'date' : 'dates'}`,
  inZone: zone => `(${zone})`,
}

function englishPosition(position: number): string {
  if (position === -1) return 'last'
  const size = Math.abs(position)
  const teen = size % 100 > 10 && size % 100 < 14
  const ending = teen ? 'th' : (['th', 'st', 'nd', 'rd'][size % 10] ?? 'th')
  return position < 0 ? `${size}${ending} to last` : `${size}${ending}`
}

const spanishEvery = (one: string, many: string) => (interval: number) =>
  interval === 1 ? `cada ${one}` : `cada ${interval} ${many}`

const spanish: RuleWords = {
  weekdays: ['lunes', 'martes', 'miércoles', 'jueves', 'viernes', 'sábado', 'domingo'],
  months: [
    'enero',
    'febrero',
    'marzo',
    'abril',
    'mayo',
    'junio',
    'julio',
    'agosto',
    'septiembre',
    'octubre',
    'noviembre',
    'diciembre',
  ],
  and: 'y',
  every: {
    YEARLY: spanishEvery('año', 'años'),
    MONTHLY: spanishEvery('mes', 'meses'),
    WEEKLY: spanishEvery('semana', 'semanas'),
    DAILY: spanishEvery('día', 'días'),
    HOURLY: spanishEvery('hora', 'horas'),
    MINUTELY: spanishEvery('minuto', 'minutos'),
    SECONDLY: spanishEvery('segundo', 'segundos'),
  },
  weekdaysOfWork: 'de lunes a viernes',
  onWeekdays: list => `en ${list}`,
  ordinalWeekday: (ordinal, weekday) => `el ${spanishOrdinal(ordinal)} ${weekday}`,
  onOrdinalWeekdays: list => list,
  ofTheYear: 'del año',
  onMonthDays: (list, months) => `el día ${list} ${months ? `de ${months}` : 'del mes'}`,
  lastDay: 'último',
  dayFromEnd: position => `${-position} contando desde el final`,
  inMonths: list => `en ${list}`,
  onYearDays: list => `el día ${list} del año`,
  inWeeks: list => `en la semana ${list} del año`,
  onlyPositions: list => `, solo ${list} de estas veces`,
  position: position =>
    position === -1
      ? 'la última'
      : position < 0
        ? `la ${-position}.ª contando desde el final`
        : `la ${position}.ª`,
  at: list => `a las ${list}`,
  duringHours: list => `en las horas ${list}`,
  atMinutes: list => `en el minuto ${list}`,
  atSeconds: list => `en el segundo ${list}`,
  once: (date, time) => `una vez, el ${date} a las ${time}`,
  date: (day, month, year) => `${day} de ${month} de ${year}`,
  times: count => (count === 1 ? 'una vez' : `${count} veces`),
  until: (date, time) => `hasta el ${date} a las ${time}`,
  added: count => `y en ${count} ${count === 1 ? 'fecha añadida' : 'fechas añadidas'}`,
  excepted: count => `salvo en ${count} ${count === 1 ? 'fecha' : 'fechas'}`,
  inZone: zone => `(${zone})`,
}

function spanishOrdinal(ordinal: number): string {
  if (ordinal === -1) return 'último'
  if (ordinal === -2) return 'penúltimo'
  if (ordinal < 0) return `${-ordinal}.º desde el final,`
  return ['', 'primer', 'segundo', 'tercer', 'cuarto', 'quinto'][ordinal] ?? `${ordinal}.º`
}

/** The languages of the console. */
export const RULE_WORDS = { en: english, es: spanish } as const satisfies Record<string, RuleWords>

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeRule } from './describe-rule.ts'

const SAID: [rrule: string | null, en: string, es: string][] = [
  [null, 'once, on 31 January 2025 at 09:00', 'una vez, el 31 de enero de 2025 a las 09:00'],
  ['FREQ=DAILY', 'every day at 09:00', 'cada día a las 09:00'],
  [
    'FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30',
    'every day at 09:00, 09:30, 17:00 and 17:30',
    'cada día a las 09:00, 09:30, 17:00 y 17:30',
  ],
  [
    'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR',
    'every week from Monday to Friday at 09:00',
    'cada semana de lunes a viernes a las 09:00',
  ],
  [
    'FREQ=WEEKLY;INTERVAL=2;BYDAY=FR,MO;COUNT=10',
    'every 2 weeks on Monday and Friday at 09:00, 10 times',
    'cada 2 semanas en lunes y viernes a las 09:00, 10 veces',
  ],
  [
    'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
    'every month from Monday to Friday at 09:00, only the last of these',
    'cada mes de lunes a viernes a las 09:00, solo la última de estas veces',
  ],
  [
    'FREQ=MONTHLY;BYDAY=2TU,-1FR',
    'every month on the 2nd Tuesday and the last Friday at 09:00',
    'cada mes el segundo martes y el último viernes a las 09:00',
  ],
  [
    'FREQ=MONTHLY;BYMONTHDAY=15,-1',
    'every month on day 15 and the last of the month at 09:00',
    'cada mes el día 15 y último del mes a las 09:00',
  ],
  [
    'FREQ=YEARLY',
    'every year on day 31 of January at 09:00',
    'cada año el día 31 de enero a las 09:00',
  ],
  [
    'FREQ=YEARLY;BYYEARDAY=100,-3',
    'every year on day 100 and the 3rd from the end of the year at 09:00',
    'cada año el día 100 y 3 contando desde el final del año a las 09:00',
  ],
  [
    'FREQ=YEARLY;BYWEEKNO=53',
    'every year in week 53 of the year on Friday at 09:00',
    'cada año en la semana 53 del año en viernes a las 09:00',
  ],
  [
    'FREQ=MINUTELY;INTERVAL=15;BYHOUR=9,10',
    'every 15 minutes in the hours 9 and 10',
    'cada 15 minutos en las horas 9 y 10',
  ],
  [
    'FREQ=DAILY;UNTIL=20260105T020000Z',
    'every day at 09:00, until 5 January 2026 at 03:00',
    'cada día a las 09:00, hasta el 5 de enero de 2026 a las 03:00',
  ],
]

for (const [rrule, en, es] of SAID) {
  test(`${rrule ?? 'a rule without RRULE'} in English and Spanish`, () => {
    const rule = { dtstart: '2025-01-31T09:00:00', tzid: 'Europe/Madrid', rrule }
    assert.equal(describeRule(rule, 'en'), `${en} (Europe/Madrid)`)
    assert.equal(describeRule(rule, 'es'), `${es} (Europe/Madrid)`)
  })
}

test('added and excluded dates are counted, and an unreadable rule is given back', () => {
  const rule = { dtstart: '2025-01-31T09:00:00', tzid: 'UTC', rrule: 'FREQ=DAILY' }
  const dates = ['2025-02-02T01:00:00Z']
  assert.equal(
    describeRule({ ...rule, rdates: dates, exdates: [...dates, ...dates] }, 'en'),
    'every day at 09:00 and on 1 added date except on 2 dates (UTC)',
  )
  assert.equal(describeRule({ ...rule, rrule: 'FREQ=SOMETIMES' }, 'en'), 'FREQ=SOMETIMES')
})

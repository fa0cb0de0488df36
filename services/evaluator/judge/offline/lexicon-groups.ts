/**
 * Groups of words that mean much the same in everyday business. A line is
 * `name: English | Spanish`, and goes on where it is indented; a phrase may have up to two other
 * words between its own. Words are compared by their stems, so one form of each is enough.
 */
export const GROUPS = `
cancel: cancel, cancellation, call off, called off, scrap, will not take place, not happening |
  cancelar, cancelación, anular, suspender, suspendido, no se celebra, no habrá
meeting: meeting, sync, standup, conference call | reunión, junta, cita, encuentro
appointment: appointment, booking, slot, reservation | cita, reserva, hora, turno
refund: refund, money back, reimburse, reimbursement, chargeback, give back my money, return my
  money | reembolso, reembolsar, devolver el dinero, devolución del dinero, devolución del
  importe, devuelvan el dinero, devuelvan lo pagado, reintegro, abono, devuelvan el importe
charge: charge, debit, bill, take from my account, taken from my account, withdrawn | cobrar,
  cobro, cargo, cargado, adeudo
twice: twice, double, two times, duplicate | dos veces, doble, duplicado, dos cargos, por
  duplicado
invoice: invoice, bill, credit note | factura
correct: correct, correction, amend, fix, rectify, mistake in | corregir, corrija, corrijan,
  corrección, rectificar, rectificativa, modificar
copy: copy, duplicate, send again, resend | copia, duplicado, reenviar
phone: call back, called back, phone call, callback, ring me, call me, give me a call, phone me,
  telephone, ring back, my number is | llamar, llame, llamen, llamada, teléfono, telefonear,
  llámame, llámenme, devolver la llamada
sign: sign, signed, signature, countersign, put her name under, put his name under | firmar,
  firma, firmado, suscrito, estampar
contract: contract, agreement, lease, deal | contrato, acuerdo, convenio
outofstock: out of stock, sold out, none left, run out, ran out, no stock, not one left, back
  order, unavailable | agotado, agotarse, sin existencias, sin stock, no queda, no quedan,
  quedado sin, no tenemos más, se acabó, se han acabado
satisfied: satisfied, satisfaction, happy with, pleased, delighted, great job, fantastic,
  excellent, thrilled, love the, impressed, wonderful, five stars, recommend | satisfecho,
  satisfacción, contento, encantado, excelente, estupendo, cinco estrellas, recomendaré,
  maravilla, fantástico, genial
dissatisfied: dissatisfied, unhappy, disappointed, disappointing, unacceptable, terrible, awful,
  complaint, not happy, fed up, poor | insatisfecho, descontento, decepcionado, decepción,
  inaceptable, pésimo, queja, reclamación, harto, vergüenza
vacation: vacation, holiday, time off, days off, annual leave, week off, leave | vacaciones, días
  libres, permiso, tome libre, días de descanso
late: late, delay, behind schedule, overdue, not arrived, has not come, still waiting for, not
  been delivered | tarde, retraso, retrasar, demora, no ha llegado, sigo esperando, con días de
  retraso
deliver: deliver, delivery, parcel, package, shipment, courier, shipping | entrega, entregar,
  paquete, envío, pedido, reparto, mensajero
damaged: damaged, broken, cracked, scratched, dented, smashed, torn, shattered, in pieces |
  dañado, roto, rota, estropeado, rajado, abollado, golpeado, rayado, desperfecto, hecho pedazos
defect: defective, faulty, does not work, not working, stopped working, malfunction, does not
  turn on, will not start | defectuoso, averiado, avería, no funciona, ha dejado de funcionar, no
  enciende, no arranca, fallo
return: return, send back, give back | devolver, devolución, devuelvo
change: change, update, modify, new | cambiar, cambio, actualizar, modificar, nuevo
exchange: exchange, swap, replacement, replace | cambio, cambiar, sustituir, reemplazo, reponer
password: password, passcode, credentials | contraseña, clave
login: log in, login, sign in, access, locked out, get into my account | iniciar sesión, acceder,
  acceso, entrar, bloqueado
forgotten: forgot, forgotten, cannot remember, lost my | olvidado, olvidé, no recuerdo
reset: reset, restore, recover | restablecer, recuperar, cambiar
account: account, profile | cuenta, perfil
close: close, delete, remove, terminate | cerrar, eliminar, borrar, dar de baja
unsubscribe: unsubscribe, opt out, stop sending, take me off, remove me from | darme de baja,
  baja del boletín, dejen de enviar, no quiero recibir más
address: address, we have moved, moving to | dirección, domicilio, nos mudamos, nos hemos mudado
payment: payment, pay, transfer, paid, card | pago, pagar, transferencia, pagado, tarjeta, cobro
fail: fail, failed, failure, declined, rejected, bounced, error, did not go through | fallar,
  fallado, fallido, fallo, rechazado, denegado, error, no se ha podido
overdue: overdue, unpaid, outstanding, past due | impagado, vencido, pendiente de pago, sin pagar
discount: discount, price reduction, reduced price, lower price, better price, voucher, coupon |
  descuento, rebaja, mejor precio, cupón, precio más bajo
price: price, rate, fee, tariff, cost | precio, tarifa, coste, cuota
raise: increase, raise, go up, rise, higher | subir, subida, aumento, aumentar, incremento,
  encarecer
quote: quote, quotation, estimate, offer | presupuesto, cotización, oferta
order: order, purchase | pedido, orden, compra, encargo
outage: outage, is down, are down, went down, unreachable, not responding, offline, unavailable,
  crashed, does not load, cannot reach | caído, caída, no responde, no carga, fuera de servicio,
  inaccesible, no está disponible, se ha caído
server: server, website, site, web, database, system, service, platform, app, application,
  network, api | servidor, sitio, página, web, base de datos, sistema, plataforma, aplicación,
  red, servicio
breach: breach, leaked, hacked, stolen, compromised, intruder, break in, exposed | filtración,
  filtrado, hackeado, robado, comprometido, intruso, expuesto, brecha
data: data, records, personal data | datos, registros
leak: leak, leaking, dripping, flooded, flood, burst | fuga, gotera, gotear, inundado,
  inundación, escape
water: water, pipe, ceiling, tap, boiler | agua, tubería, techo, grifo, cañería
fire: fire, smoke, flames, burning | fuego, incendio, humo, llamas
accident: accident, crash, collision, fell | accidente, choque, colisión, caída
injured: injured, injury, hurt, wounded, broke his, broke her | herido, lesión, lesionado,
  lastimado
sick: sick, ill, fever, flu, unwell, doctor's note, sick leave | enfermo, fiebre, gripe, baja
  médica, indispuesto, malo
resign: resign, resignation, quit, hand in my notice, leaving the company, last day | dimitir,
  dimisión, renuncia, renunciar, dejo la empresa, dejar el puesto
apply: apply, application, candidate, candidacy | candidatura, solicitud, postular, presentarme,
  optar
job: job, position, vacancy, role, post | empleo, puesto, trabajo, vacante, plaza
hire: hire, recruit, take on | contratar, contratación, fichar
postpone: postpone, reschedule, move to, moved to, put off, pushed back, defer | aplazar,
  posponer, retrasar, cambiar de fecha, trasladar, mover
extend: extend, extension, more time, prolong | prórroga, prorrogar, ampliar, ampliación, más
  tiempo, más plazo
deadline: deadline, due date, term | plazo, fecha límite, vencimiento
warranty: warranty, guarantee | garantía
lost: lost, missing, cannot find, disappeared, went astray | perdido, extraviado, no encuentro,
  desaparecido, falta
wrong: wrong, incorrect, mistaken, not what I ordered, another item | equivocado, incorrecto,
  erróneo, no es lo que pedí, otro artículo
allergy: allergy, allergic, intolerance | alergia, alérgico, intolerancia
legal: lawyer, sue, court, lawsuit, legal action, attorney, solicitor | abogado, demanda,
  demandar, tribunal, juzgado, acciones legales, vía judicial
renew: renew, renewal | renovar, renovación
invite: invite, invitation | invitar, invitación
approve: approve, approved, approval, green light, gave the go-ahead | aprobar, aprobado,
  aprobación, visto bueno, luz verde
reject: reject, decline, turn down, turned down, refuse | rechazar, rechazado, denegar, negar
demo: demo, demonstration, presentation, trial | demo, demostración, presentación, prueba
repair: repair, fix, mend | reparar, reparación, arreglar, arreglo
technician: technician, engineer, plumber, electrician, repairman | técnico, fontanero,
  electricista, operario
fraud: fraud, scam, phishing, suspicious, not mine, did not make, unauthorised, unauthorized |
  fraude, estafa, phishing, sospechoso, no autorizado, no he hecho, no reconozco
disk: disk, storage, drive, volume | disco, almacenamiento
full: full, no space, almost full, 100 percent, out of space | lleno, sin espacio, llena
temperature: temperature, degrees, too hot, overheating | temperatura, grados, sobrecalentamiento
power: power cut, blackout, electricity, no power | apagón, corte de luz, sin luz, electricidad
noise: noise, loud, noisy | ruido, ruidoso, escándalo
parking: parking, car park, garage | aparcamiento, parking, garaje
key: key, keys | llave, llaves
thank: thank, thanks, grateful, appreciate | gracias, agradecer, agradecido
staff: staff, employee, colleague, driver, waiter | personal, empleado, trabajador, compañero,
  camarero
rude: rude, impolite, shouted at, unfriendly | grosero, maleducado, antipático, malas formas
arrive: arrive, arrived, arrival, here | llegar, llegado, llegada
finish: finish, completed, done, complete | terminar, terminado, acabado, concluido, finalizado
ready: ready, can be picked up, can be collected | listo, preparado, se puede recoger
recall: recall, withdraw from sale | retirar del mercado, retirada
win: win, won, awarded | ganar, ganado, adjudicado
visit: visit, come by, stop by | visita, visitar, pasar por
translate: translate, translation | traducir, traducción
help: help, assistance, support | ayuda, asistencia, soporte
information: information, details, brochure, know more | información, detalles, folleto, saber
  más
catering: catering, food, lunch | catering, comida, almuerzo
train: train, training, course | formación, curso
`

'use strict'
// The page of the dashboard: it asks for everything once, then draws what events add.

const $ = (id) => document.getElementById(id)
const secondsKept = 3600, minutesKept = 1440
const colours = 9

let layout, seconds, minutes, figures, lastID, source, charts = [], figureViews = []
let span = 300
let rating = Number(store('rating')) || 600

// store keeps a small setting in the browser, which may refuse to.
function store(key, value) {
  try {
    if (value !== undefined) localStorage.setItem(key, value)
    return localStorage.getItem(key)
  } catch { return null }
}

// --- how numbers are written

// three returns three digits of a number that is at least as large as 1.
const three = (v) => Math.abs(v) >= 99.95 ? v.toFixed(0) : Math.abs(v) >= 9.995 ? v.toFixed(1) : v.toFixed(2)

// scaled writes a number with a prefix of its unit.
function scaled(v, unit, base, prefixes) {
  let i = 0
  while (Math.abs(v) >= base * 0.9995 && i < prefixes.length - 1) { v /= base; i++ }
  return (i === 0 && Math.abs(v) >= 1 && Number.isInteger(v) ? String(v) : v === 0 ? '0' : three(v)) + ' ' + prefixes[i] + unit
}

const decimal = ['', 'k', 'M', 'G', 'T', 'P', 'E'], binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

function duration(v) {
  const a = Math.abs(v)
  if (a === 0) return '0 s'
  if (a < 0.001) return three(v * 1e6) + ' µs'
  if (a < 1) return three(v * 1000) + ' ms'
  if (a < 120) return three(v) + ' s'
  if (a < 7200) return (v / 60).toFixed(1) + ' min'
  if (a < 172800) return (v / 3600).toFixed(1) + ' h'
  return (v / 86400).toFixed(a < 8640000 ? 1 : 0) + ' days'
}

function plain(v) {
  if (Number.isInteger(v)) return v.toLocaleString('en')
  return Math.abs(v) >= 1000 ? Math.round(v).toLocaleString('en') : Math.abs(v) >= 1 ? three(v) : v.toPrecision(2)
}

const write = {
  '': plain,
  '/s': (v) => (Math.abs(v) < 1e5 ? plain(v) + ' ' : scaled(v, '', 1000, decimal)) + '/s',
  's': duration,
  '%': (v) => three(v) + ' %',
  'B': (v) => scaled(v, 'B', 1024, binary),
  'B/s': (v) => scaled(v, 'B/s', 1000, decimal),
  'bit/s': (v) => scaled(v, 'bit/s', 1000, decimal),
  'B/y': (v) => scaled(v, 'B a year', 1000, decimal),
}

function text(v, unit) {
  if (v === null || v === undefined) return '–'
  return unit === 'text' ? v || '–' : write[unit](v)
}

// --- what is shown

function element(name, parent, className, content) {
  const e = document.createElement(name)
  if (className) e.className = className
  if (content !== undefined) e.textContent = content
  if (parent) parent.append(e)
  return e
}

function build() {
  charts.forEach((c) => c.remove())
  charts = []
  figureViews = []
  $('title').textContent = document.title = layout.title
  $('version').textContent = layout.version
  const main = $('groups')
  main.replaceChildren()
  const groups = new Map()
  let column = 0
  layout.panels.forEach((p) => { p.column = column; column += p.series.length })
  const all = [...layout.figures.map((f, index) => ({ ...f, index })), ...layout.panels]
  // The order of groups is that of the panels; what has figures only comes after.
  for (const x of [...layout.panels, ...all]) if (!groups.has(x.group)) groups.set(x.group, { figures: [], panels: [] })
  for (const x of all) (x.series ? groups.get(x.group).panels : groups.get(x.group).figures).push(x)
  for (const [name, g] of groups) {
    const section = element('section', main)
    element('h2', section, '', name)
    if (g.figures.length) buildFigures(section, g.figures)
    const panels = element('div', section, 'panels')
    for (const p of g.panels) charts.push(chart(panels, p))
  }
}

function buildFigures(section, list) {
  if (list.some((f) => f.unit === 'B/y')) {
    const label = element('label', section, 'rating', 'A disk rated for ')
    const input = element('input', label)
    Object.assign(input, { type: 'number', min: 1, step: 'any', value: rating })
    label.append(' TB written lasts as long as is said below.')
    input.addEventListener('input', () => {
      if (input.valueAsNumber > 0) { rating = input.valueAsNumber; store('rating', rating); showFigures() }
    })
  }
  const dl = element('dl', section, 'figures')
  for (const f of list) {
    const box = element('div', dl)
    element('dt', box, '', f.title)
    const value = element('dd', box)
    const life = f.unit === 'B/y' ? element('dd', box, 'more') : null
    if (f.help) element('dd', box, 'more', f.help)
    figureViews.push({ f, value, life })
  }
}

function showFigures() {
  for (const { f, value, life } of figureViews) {
    const v = figures[f.index]
    value.textContent = text(v, f.unit)
    if (!life) continue
    const years = rating * 1e12 / v
    life.textContent = v > 0 ? (years >= 1000 ? 'the disk lasts over 1,000 years' : 'the disk lasts ' + three(years) + ' years') : ''
  }
}

// data are the rows of a panel as uPlot wants them: times in s, then each series. A stack
// is summed up from below, the first series on top.
function data(p) {
  const from = span > secondsKept ? minutes : seconds
  const begin = from.t.length ? from.t[from.t.length - 1] - span * 1000 : 0
  let first = 0
  if (span < secondsKept) first = Math.max(0, from.t.findIndex((t) => t >= begin))
  const t = from.t.slice(first).map((ms) => ms / 1000)
  const raw = p.series.map((_, i) => from.v[p.column + i].slice(first))
  if (!p.stacked) return { raw, rows: [t, ...raw] }
  const rows = raw.map((r) => r.slice())
  for (let i = rows.length - 2; i >= 0; i--) {
    for (let j = 0; j < t.length; j++) {
      if (rows[i + 1][j] !== null) rows[i][j] = (rows[i][j] ?? 0) + rows[i + 1][j]
    }
  }
  return { raw, rows: [t, ...rows] }
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

function options(p, width, height, moved) {
  const soft = css('--soft'), grid = { stroke: css('--grid'), width: 1 }
  const axis = { stroke: soft, grid, ticks: { stroke: css('--grid'), size: 4 }, font: '11px system-ui, sans-serif' }
  const series = p.series.map((_, i) => {
    const colour = css('--c' + i % colours)
    return { stroke: colour, width: 1.5, points: { show: false }, fill: p.stacked ? colour + '55' : undefined, spanGaps: false }
  })
  const increments = p.unit === 'B' ? Array.from({ length: 60 }, (_, i) => 2 ** i) : undefined
  return {
    width, height,
    legend: { show: false },
    cursor: { sync: { key: 'time' }, drag: { x: false, y: false }, points: { size: 5 } },
    hooks: { setCursor: [moved] },
    bands: p.stacked ? p.series.slice(1).map((_, i) => ({ series: [i + 1, i + 2] })) : undefined,
    scales: {
      x: { time: true, range: (u) => { const t = u.data[0], end = t.length ? t[t.length - 1] : Date.now() / 1000; return [end - span, end] } },
      y: { range: (u, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.08 : low < 0 ? 0 : 1] },
    },
    axes: [
      { ...axis, size: 30, space: 70, values: (u, ticks) => ticks.map(clock) },
      { ...axis, size: 74, space: 32, incrs: increments, values: (u, ticks) => ticks.map((v) => text(v, p.unit)) },
    ],
    series: [{}, ...series],
  }
}

// clock writes a time of the day as the machine of the viewer has it.
function clock(t) {
  const d = new Date(t * 1000), two = (n) => String(n).padStart(2, '0')
  return two(d.getHours()) + ':' + two(d.getMinutes()) + (span <= 300 ? ':' + two(d.getSeconds()) : '')
}

function chart(parent, p) {
  const box = element('article', parent, 'panel')
  element('h3', box, '', p.title)
  const place = element('div', box, 'plot')
  const names = element('ul', box, 'names')
  const values = p.series.map((name, i) => {
    const li = element('li', names)
    element('i', li, 's' + i % colours)
    element('span', li, '', name)
    return element('b', li, '', '–')
  })
  if (p.help) element('p', box, 'help', p.help)
  let plot, rows = data(p), visible = true
  const say = () => {
    const at = plot && plot.cursor.idx !== null && plot.cursor.idx !== undefined ? plot.cursor.idx : rows.rows[0].length - 1
    values.forEach((b, i) => { b.textContent = text(rows.raw[i][at], p.unit) })
  }
  const draw = () => {
    if (plot) plot.destroy()
    plot = new uPlot(options(p, place.clientWidth || 300, place.clientHeight || 170, say), rows.rows, place)
    say()
  }
  const sizes = new ResizeObserver(() => { if (plot) plot.setSize({ width: place.clientWidth, height: place.clientHeight }) })
  const sight = new IntersectionObserver((list) => { visible = list[list.length - 1].isIntersecting; if (visible) update() }, { rootMargin: '200px' })
  const update = () => {
    if (!visible) return
    rows = data(p)
    plot.setData(rows.rows)
    say()
  }
  draw()
  sizes.observe(place)
  sight.observe(box)
  return { draw: () => { rows = data(p); draw() }, update, remove: () => { sizes.disconnect(); sight.disconnect(); plot.destroy() } }
}

// --- what comes

function say(state, words) {
  $('state').className = state
  $('state').textContent = words
}

function add(to, kept, t, v) {
  to.t.push(t)
  v.forEach((x, i) => to.v[i].push(x))
  if (to.t.length <= kept) return
  to.t.shift()
  to.v.forEach((column) => column.shift())
}

let heard = 0

function receive(e) {
  const s = JSON.parse(e.data)
  lastID = e.lastEventId
  heard = Date.now()
  say('live', 'live')
  add(seconds, secondsKept, s.t, s.v)
  if (s.m) add(minutes, minutesKept, s.mt, s.m)
  figures = s.f
  showFigures()
  if (span <= secondsKept || s.m) charts.forEach((c) => c.update())
}

function listen() {
  source = new EventSource('events?since=' + encodeURIComponent(lastID))
  source.onmessage = receive
  source.addEventListener('reset', begin)
  source.onerror = () => {
    say('lost', 'the connection is lost, trying again')
    if (source.readyState === EventSource.CLOSED) later() // refused: the browser does not try again
  }
}

let waiting = 0

function later() {
  clearTimeout(waiting)
  waiting = setTimeout(begin, 5000)
}

let beginning = 0

// begin asks for everything, and listens. Of several at once the last one counts.
async function begin() {
  clearTimeout(waiting)
  if (source) source.close()
  const mine = ++beginning
  try {
    const answer = await fetch('data', { cache: 'no-store' })
    if (!answer.ok) throw new Error((await answer.text()).trim())
    const all = await answer.json()
    if (mine !== beginning) return
    ;({ layout, seconds, minutes, figures } = all)
    lastID = all.id
    heard = Date.now()
    build()
    showFigures()
    if (!document.hidden) listen()
  } catch (err) {
    if (mine !== beginning) return
    say('lost', 'no answer, trying again: ' + err.message)
    later()
  }
}

// A page that nobody sees costs nothing.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    if (source) source.close()
  } else if (layout && Date.now() - heard < 50000) {
    if (source) source.close()
    listen()
  } else begin()
})

setInterval(() => {
  if (!document.hidden && layout && Date.now() - heard > 5000) say('lost', 'no news for ' + Math.round((Date.now() - heard) / 1000) + ' s')
}, 1000)

for (const b of $('spans').children) {
  b.addEventListener('click', () => {
    span = Number(b.dataset.span)
    for (const other of $('spans').children) other.setAttribute('aria-pressed', String(other === b))
    if (layout) charts.forEach((c) => c.draw())
  })
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (layout) charts.forEach((c) => c.draw()) })

begin()

/** Line charts with logarithmic axes, as SVG. */

/** A line of a chart. Points without a positive size and cost are left out: they have no logarithm. */
export interface Line {
  readonly name: string
  readonly colour: string
  readonly points: ReadonlyArray<{
    readonly size: number
    readonly cost: number
    /** The middle half of the samples. */
    readonly low: number
    readonly high: number
  }>
}

/** A chart and the labels of its axes. */
export interface Chart {
  readonly title: string
  readonly sizes: string
  readonly costs: string
  readonly lines: ReadonlyArray<Line>
}

const width = 800
const height = 440
const left = 72
const right = 190
const top = 48
const bottom = 56
const labelHeight = 15

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\"", "&quot;")

const round = (value: number): string => String(Math.round(value * 10) / 10)

const text = (content: string, x: number, y: number, attributes = ""): string =>
  `<text x="${round(x)}" y="${round(y)}"${attributes}>${escaped(content)}</text>`

const tick = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 6 })

/** A logarithmic axis from one power of ten to another. */
interface Axis {
  readonly powers: ReadonlyArray<number>
  /** Returns the place of a value: 0 at the start of the axis, 1 at its end. */
  readonly at: (value: number) => number
}

const axis = (values: ReadonlyArray<number>): Axis => {
  const some = values.length === 0 ? [1] : values
  const least = Math.floor(Math.log10(Math.min(...some)))
  const most = Math.max(Math.ceil(Math.log10(Math.max(...some))), least + 1)
  return {
    powers: Array.from({ length: most - least + 1 }, (_, index) => 10 ** (least + index)),
    at: (value) => (Math.log10(value) - least) / (most - least)
  }
}

/** Moves labels apart that would overlap. Returns their places in the given order. */
const apart = (wanted: ReadonlyArray<number>): ReadonlyArray<number> => {
  const places = new Map<number, number>()
  let next = Number.NEGATIVE_INFINITY
  for (const [index, at] of [...wanted.entries()].toSorted(([, one], [, other]) => one - other)) {
    next = Math.max(next + labelHeight, at)
    places.set(index, next)
  }
  const overflow = Math.max(0, next - (height - 4))
  return wanted.map((at, index) => (places.get(index) ?? at) - overflow)
}

/** Returns an SVG document. */
export const draw = ({ costs, lines, sizes, title }: Chart): string => {
  const drawn = lines.map(({ colour, name, points }) => ({
    name,
    colour,
    points: points.filter(({ cost, size }) => size > 0 && cost > 0).toSorted((a, b) => a.size - b.size)
  })).filter(({ points }) => points.length > 0)
  const all = drawn.flatMap(({ points }) => points)
  const horizontal = axis(all.map(({ size }) => size))
  const vertical = axis(all.map(({ cost }) => cost))
  const x = (size: number) => left + horizontal.at(size) * (width - left - right)
  const y = (cost: number) => {
    const at = height - bottom - vertical.at(cost) * (height - top - bottom)
    return Math.min(Math.max(at, top), height - bottom)
  }
  const labels = apart(drawn.map(({ points }) => y(points.at(-1)?.cost ?? 1) + 4))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" ` +
    `fill="#222222">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(title, left, 24, " font-size=\"15\""),
    ...horizontal.powers.flatMap((power) => [
      `<path d="M${round(x(power))} ${top}V${height - bottom}" stroke="#e4e4e4" fill="none"/>`,
      text(tick(power), x(power), height - bottom + 18, " text-anchor=\"middle\"")
    ]),
    ...vertical.powers.flatMap((power) => [
      `<path d="M${left} ${round(y(power))}H${width - right}" stroke="#e4e4e4" fill="none"/>`,
      text(tick(power), left - 8, y(power) + 4, " text-anchor=\"end\"")
    ]),
    text(sizes, (left + width - right) / 2, height - 14, " text-anchor=\"middle\""),
    text(costs, left, top - 8, " font-size=\"11\""),
    ...drawn.flatMap(({ colour, name, points }, index) => {
      const last = points.at(-1)
      return [
        ...points.filter(({ high, low }) => low > 0 && high > low).map(({ high, low, size }) =>
          `<path d="M${round(x(size))} ${round(y(low))}V${round(y(high))}" stroke="${colour}" stroke-width="4" ` +
          `stroke-opacity="0.3" fill="none"/>`
        ),
        `<polyline points="${points.map(({ cost, size }) => `${round(x(size))},${round(y(cost))}`).join(" ")}" ` +
        `stroke="${colour}" stroke-width="2" fill="none"/>`,
        ...points.map(({ cost, size }) =>
          `<circle cx="${round(x(size))}" cy="${round(y(cost))}" r="3" fill="${colour}"/>`
        ),
        text(name, x(last?.size ?? 1) + 10, labels[index] ?? top, ` fill="${colour}"`)
      ]
    }),
    "</svg>",
    ""
  ].join("\n")
}

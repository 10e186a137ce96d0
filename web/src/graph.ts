// Draws the graph of a page. The same nodes are in the list beside it, so nothing is lost without the drawing.
import cytoscape, { type Core, type ElementDefinition, type StylesheetJson } from "cytoscape";

interface GraphNode { id: string; kind: string; name: string; title: string; here: string; address: string; hops: number; number: number; }
interface GraphEdge { source: string; target: string; type: string; number: number; }
interface Graph { root: GraphNode; nodes: GraphNode[]; edges: GraphEdge[]; path: string[]; }

const LABELLED_UP_TO = 120;
const FORCES_UP_TO = 300;

async function start(): Promise<void> {
  const box = document.getElementById("graph");
  if (box === null) return;
  const address = new URL(box.dataset["address"] ?? location.href, location.href);
  address.searchParams.set("format", "json");
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  if (!response.ok) return;
  draw(box, (await response.json()) as Graph);
}

function draw(box: HTMLElement, graph: Graph): void {
  const isLarge = graph.nodes.length > LABELLED_UP_TO;
  const core = cytoscape({
    container: box,
    elements: elements(graph),
    style: style(isLarge),
    layout: layout(graph),
    minZoom: 0.05,
    maxZoom: 3,
    pixelRatio: graph.nodes.length > FORCES_UP_TO ? 1 : ("auto" as unknown as number),
    hideEdgesOnViewport: graph.nodes.length > FORCES_UP_TO,
    textureOnViewport: graph.nodes.length > FORCES_UP_TO,
  });
  core.on("tap", "node", (event) => {
    const here = event.target.data("here") as string;
    if (here) location.assign(here);
  });
  connectList(core);
  document.addEventListener("themechange", () => core.style(style(isLarge)));
  box.dataset["drawn"] = String(graph.nodes.length);
  (box as HTMLElement & { graph?: Core }).graph = core;
}

function elements(graph: Graph): ElementDefinition[] {
  const onPath = new Set(graph.path);
  const nodes = graph.nodes.map((node) => ({
    data: { ...node, label: node.number > 1 ? `${node.name} (${node.number})` : node.name },
    classes: [`kind-${node.kind}`, node.id === graph.root.id ? "root" : "", onPath.has(node.id) ? "path" : ""].join(" "),
  }));
  const edges = graph.edges.map((edge, number) => ({
    data: { id: `edge-${number}`, source: edge.source, target: edge.target, label: edge.type.toLowerCase().replace(/_/g, " ") },
    classes: onPath.has(edge.source) && onPath.has(edge.target) ? "path" : "",
  }));
  return [...nodes, ...edges];
}

function layout(graph: Graph): cytoscape.LayoutOptions {
  if (graph.nodes.length > FORCES_UP_TO) {
    return { name: "concentric", concentric: (node) => -(node as unknown as cytoscape.NodeSingular).data("hops"), levelWidth: () => 1, minNodeSpacing: 4 };
  }
  return { name: "cose", animate: false, randomize: false, nodeDimensionsIncludeLabels: graph.nodes.length <= 40, idealEdgeLength: () => 70 };
}

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function style(isLarge: boolean): StylesheetJson {
  const kinds: [string, string][] = [
    ["code", "--todo-bar"], ["symbol", "--todo-bar"], ["test", "--done-bar"], ["requirement", "--progress-bar"],
    ["specification", "--number"], ["section", "--number"], ["note", "--exception-bar"], ["document", "--tests-bar"],
  ];
  return [
    {
      selector: "node",
      style: {
        width: 14, height: 14, "background-color": color("--open-bar"), color: color("--text"),
        label: isLarge ? "" : "data(label)", "font-size": 11, "text-valign": "bottom", "text-margin-y": 3, "text-wrap": "ellipsis", "text-max-width": "140px",
        "min-zoomed-font-size": 7,
      },
    },
    ...kinds.map(([kind, name]) => ({ selector: `.kind-${kind}`, style: { "background-color": color(name) } })),
    { selector: ".kind-symbol", style: { width: 10, height: 10 } },
    { selector: ".root", style: { width: 24, height: 24, label: "data(label)", "font-weight": "bold" } },
    { selector: "node.path, node.near", style: { label: "data(label)", "border-width": 3, "border-color": color("--accent") } },
    {
      selector: "edge",
      style: {
        width: 1, "line-color": color("--open-bar"), "curve-style": isLarge ? "haystack" : "bezier", "target-arrow-shape": isLarge ? "none" : "triangle",
        "target-arrow-color": color("--open-bar"), "arrow-scale": 0.7,
      },
    },
    { selector: "edge.path", style: { width: 3, "line-color": color("--accent"), "target-arrow-color": color("--accent") } },
  ] as StylesheetJson;
}

function connectList(core: Core): void {
  for (const item of document.querySelectorAll<HTMLElement>("[data-node]")) {
    const node = core.getElementById(item.dataset["node"] ?? "");
    const show = (isNear: boolean) => () => void node.toggleClass("near", isNear);
    item.addEventListener("mouseenter", show(true));
    item.addEventListener("mouseleave", show(false));
    item.addEventListener("focusin", show(true));
    item.addEventListener("focusout", show(false));
  }
}

void start();

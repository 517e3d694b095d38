"""Graphs with networkx: shortest paths, centrality, components, colouring, spanning tree."""
import networkx as nx

g = nx.Graph()
g.add_weighted_edges_from([("Oslo", "Bergen", 463), ("Oslo", "Stockholm", 523), ("Stockholm", "Malmo", 614), ("Malmo", "Copenhagen", 44), ("Oslo", "Malmo", 580), ("Bergen", "Stavanger", 209)])
g.add_edge("Reykjavik", "Akureyri", weight=388)
print(g.number_of_nodes(), g.number_of_edges(), nx.is_connected(g))
print(nx.shortest_path(g, "Bergen", "Copenhagen", weight="weight"), nx.shortest_path_length(g, "Bergen", "Copenhagen", weight="weight"))
print(sorted(map(sorted, nx.connected_components(g))))
print({n: round(c, 3) for n, c in sorted(nx.betweenness_centrality(g).items())})
tree = nx.minimum_spanning_tree(g)
print(sorted((min(u, v), max(u, v), d["weight"]) for u, v, d in tree.edges(data=True)), tree.size(weight="weight"))
print(dict(sorted(g.degree)), nx.density(g).__round__(4))
try:
    nx.shortest_path(g, "Oslo", "Reykjavik")
except nx.NetworkXNoPath as e:
    print("no path:", e)
d = nx.DiGraph([("wake", "wash"), ("wash", "dress"), ("wake", "coffee"), ("coffee", "leave"), ("dress", "leave")])
print(list(nx.lexicographical_topological_sort(d)), nx.is_directed_acyclic_graph(d), nx.dag_longest_path(d))
d.add_edge("leave", "wake")
print(nx.is_directed_acyclic_graph(d), len(list(nx.simple_cycles(d))))
print(nx.pagerank(nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]))["a"].__round__(4))
flow = nx.DiGraph()
flow.add_edge("s", "a", capacity=3); flow.add_edge("s", "b", capacity=2); flow.add_edge("a", "t", capacity=2); flow.add_edge("b", "t", capacity=3); flow.add_edge("a", "b", capacity=5)
print(nx.maximum_flow_value(flow, "s", "t"))
print(max(nx.greedy_color(nx.cycle_graph(5)).values()) + 1, nx.diameter(nx.path_graph(6)))

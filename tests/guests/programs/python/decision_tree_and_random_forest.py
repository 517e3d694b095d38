from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, export_text
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.pipeline import make_pipeline
from sklearn.metrics import confusion_matrix
wine = load_wine()
tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(wine.data, wine.target)
print(export_text(tree, feature_names=list(wine.feature_names)))
print(confusion_matrix(wine.target, tree.predict(wine.data)))
forest = RandomForestClassifier(n_estimators=10, random_state=0)
print((cross_val_score(forest, wine.data, wine.target, cv=3).mean() > 0.9))
